"""Three dimensions: convex polytopes and unions of simplices.

cover       the learners
selection   exact draws of halfspaces and simplices, by enumeration of the class
"""
