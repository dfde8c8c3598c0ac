"""Learns by tiles of the square: a piece of few edges in each.

tiles             sets up a run as parameters ask for it, and learns tile after tile
tile_choice       chooses how many tiles a side
fewest_mistakes   finds how few mistakes a piece can make in a tile
borders           makes tiles agree with their neighbours, and draws sides as straight lines
tidying           removes slits and teeth that borders leave
outline_sides     divides an outline into sides, and finds the joints where they meet
"""
