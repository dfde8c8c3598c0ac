"""Finite classes over finite domains, and the best of finitely many hypotheses.

finite_class     a class as a table, its mistakes on a sample; consistent and private learners
empirical_risk   the hypothesis of least loss from a list, and its private choice
sample_sizes     independent examples that suffice, with exact constants; dichotomies, shattering,
                 VC dimension and growth functions
amplification    from a private learner that fails half of the time to one that hardly fails
experts          prediction with expert advice, and privately
"""
