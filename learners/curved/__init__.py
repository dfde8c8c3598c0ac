"""Covers by discs, ellipses, polynomials, and in three dimensions.

unions             unions of discs, of ellipses, and of regions bounded by polynomials
conic_selection    their sampler
conic_boxes        boxes of discs or ellipses, counted and bounded
shared_points      points that the bounds look at together
space              polytopes, simplices and balls
listed_selection   selection from classes that are listed
"""
