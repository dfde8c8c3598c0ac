"""Learners over Boolean variables: conjunctions, disjunctions and parities.

formulas                examples, dense or sparse, literals that decide them, formulas, and what
                        their learners share
conjunction             learns at most k literals privately (KMMS theorem 3.5); and the strawman: a
                        list of good literals and a cover from it
consistent_conjunction  learns by elimination, by a greedy cover, and privately; how many examples
                        that needs
parity                  learns parity functions, with privacy and without; solves linear equations
                        over GF(2), bit-packed
"""
