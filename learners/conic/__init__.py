"""Unions of discs and of ellipses: KMMS's set cover after linearization.

union          the learners
selection      draws of a disc or an ellipse
boxes          the boxes of parameters that a draw refines, compiled
shared_points  grid points of both labels, which bound boxes apart, compiled
"""
