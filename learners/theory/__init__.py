"""What is promised: sizes of samples, bounds of the error, dimensions, checks by simulation.

theorems        every theorem that states a number of examples, in both directions
planner         how many examples suffice for polygons, and what a number guarantees
printed_constants  what KMMS's proof asks for with the constants that it prints
sample_sizes    independent examples for a finite class, with exact constants
rule_of_thumb   what a run is likely to reach: an estimate, not a bound
vc              dichotomies, shattering, VC dimension and growth functions
pac             errors on a finite domain, and checks of promises by simulation
"""
