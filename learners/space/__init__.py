"""Three dimensions: convex polytopes, unions of simplices and of balls.

cover       the learners
selection   exact draws of halfspaces, simplices, balls and regions of polynomials, by enumeration
"""
