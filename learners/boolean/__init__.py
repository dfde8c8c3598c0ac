"""Learners over Boolean variables: conjunctions, disjunctions and parities.

formulas                examples, dense or sparse, literals that decide them, what is released of
                        formulas, and what their learners share
conjunction             private learners of at most k literals (KMMS theorem 3.5), and the
                        strawman: a list of good literals and a cover from it
consistent_conjunction  elimination, greedy cover, and the exponential mechanism over all; how many
                        examples they need
parity                  parity functions: a consistent learner, and a private one
gf2                     linear equations over GF(2), bit-packed
"""
