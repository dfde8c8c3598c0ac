"""What the learners are compared with.

noisy_histogram   counts of cells, interpolated or not
quadtree          a noisy quadtree
greedy            greedy covers, without privacy
"""
