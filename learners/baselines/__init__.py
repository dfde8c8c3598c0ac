"""What the learners are compared with.

noisy_histogram   counts of cells, interpolated or not
quadtree          a noisy quadtree
labelled_tiles    tiles that have a label each
greedy            greedy covers, without privacy
"""
