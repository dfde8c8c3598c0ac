"""Learns by discs, ellipses, polynomials, and in three dimensions.

curved_learners    learns unions of discs, of ellipses, of regions bounded by polynomials, of
                   simplices and of balls, and convex polytopes
selection          draws discs and ellipses, up to a rounding that is charged; and halfspaces,
                   simplices, balls and regions of polynomials from a list, exactly
conic_boxes        refines boxes of discs and ellipses until one is drawn
"""
