"""Computes what is promised: sizes of samples, bounds of the error, checks by simulation.

theorems        the table of theorems that state a number of examples, in both directions
cover_sizes     covers by k pieces: how many examples suffice, and what KMMS print
rule_of_thumb   what a run is likely to reach: an estimate, not a bound
pac             errors on a finite domain, and checks of promises by simulation
"""
