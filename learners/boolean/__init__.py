"""Learners over Boolean variables: conjunctions, disjunctions and parities.

literals                  literals, and formulas of them
literal_columns           examples, dense or sparse, by columns and by rows
literal_cover             the books of a set cover by literals
conjunction               private learners of at most k literals (KMMS theorem 3.5)
conjunction_consistency   the exponential mechanism over all conjunctions
conjunction_greedy        without privacy: elimination, and a greedy cover of the rest
conjunction_budget        what the steps of a cover may spend
conjunction_bounds        how many examples are needed
conjunction_estimator     what these learners share
conjunction_records       what a run leaves behind
parity                    parity functions: a consistent learner, and a private one
gf2                       linear equations over GF(2), bit-packed
"""
