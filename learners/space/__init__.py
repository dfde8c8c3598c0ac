"""Three dimensions: convex polytopes and unions of simplices.

halfspaces3_cover   the learners
halfspaces3         exact draws of halfspaces and simplices, by enumeration of the class
"""
