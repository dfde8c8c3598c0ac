"""Covers by discs, ellipses, polynomials, and in three dimensions.

curved_learners    unions of discs, of ellipses, of regions bounded by polynomials, of simplices and
                   of balls, and convex polytopes
conic_selection    the sampler of discs and ellipses, and points that its bounds look at together
conic_boxes        boxes of discs or ellipses, counted and bounded
listed_selection   selection from classes that are listed
"""
