"""Covers by discs, ellipses, polynomials, and in three dimensions.

conic_union        unions of discs and of ellipses
conic_selection    their sampler
conic_boxes        boxes of discs or ellipses, counted and bounded
shared_points      points that the bounds look at together
polynomial_union   regions bounded by polynomials
space              polytopes, simplices and balls
listed_selection   selection from classes that are listed
"""
