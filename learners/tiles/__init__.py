"""Learns by tiles of the square: a piece of few edges in each.

tile_run           sets up a run as parameters ask for it
tiles              learns tile after tile
tile_choice        chooses how many tiles a side
fewest_mistakes    finds how few mistakes a piece can make in a tile
agreeing_borders   makes tiles agree with their neighbours
tidying            removes slits and teeth that their borders leave
straight_sides     draws each side as one straight line
sides              divides an outline into sides, and finds the joints where they meet
"""
