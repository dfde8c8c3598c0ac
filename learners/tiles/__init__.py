"""Runs by tiles: a piece of few edges in each.

tile_run           a run by tiles, as parameters ask for it
tiles              the engine: tile after tile
tile_choice        how many tiles
fewest_mistakes    how few mistakes a piece can make in a tile
agreeing_borders   tiles that agree with their neighbours
tidying            labels along borders, weighed once more
straight_sides     sides drawn straight
sides              the sides that a border is made of, and the joints where they meet
"""
