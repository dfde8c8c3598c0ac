"""Baselines with which the learners are compared.

noisy_histogram   a region by a noisy histogram of the labels, interpolated or not
quadtree          a region by a private quadtree
labelled_tiles    the step records of both
greedy            polygons by greedy covers, without privacy
"""
