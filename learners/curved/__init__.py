"""Learns by discs, ellipses, polynomials, and in three dimensions.

curved_learners    learns unions of discs, of ellipses, of regions bounded by polynomials, of
                   simplices and of balls, and convex polytopes
conic_selection    draws discs and ellipses, up to a rounding that is charged
conic_boxes        refines boxes of them until one is drawn
listed_selection   draws halfspaces, simplices, balls and regions of polynomials from a list
"""
