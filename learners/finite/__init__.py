"""Finite classes over finite domains, and the best of finitely many hypotheses.

finite_class     learns from a class given as a table, with privacy and without
empirical_risk   chooses the hypothesis of least loss from a list, likewise
sample_sizes     how many independent examples suffice, with exact constants; dichotomies,
                 shattering, VC dimension and growth functions
amplification    makes one learner that hardly fails of one that fails half of the time
experts          predicts with expert advice, with privacy and without
"""
