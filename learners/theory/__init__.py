"""What is promised: sizes of samples, bounds of the error, checks by simulation.

theorems        every theorem that states a number of examples, in both directions
planner         polygons: how many examples suffice, what a number guarantees, what KMMS print
rule_of_thumb   what a run is likely to reach: an estimate, not a bound
practice_table  the measurements behind it, made by benchmarks/practice.py
pac             errors on a finite domain, and checks of promises by simulation
"""
