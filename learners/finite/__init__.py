"""Finite classes over finite domains, and the best of finitely many hypotheses.

finite_class           a class as a table, and its mistakes on a sample
finite_class_learner   consistent, and private by the exponential mechanism
private_erm            the hypothesis of least loss from a list, and its private choice
experts                prediction with expert advice, and privately
"""
