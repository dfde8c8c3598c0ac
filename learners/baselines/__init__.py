"""Baselines with which the learners are compared.

noisy_histogram   a region by a noisy histogram of the labels, interpolated or not
quadtree          a region by a private quadtree
greedy            polygons by greedy covers, without privacy
"""
