"""Draws of pieces of the plane by refining an envelope over the dual plane.

The law and its proof: :mod:`learners.envelope.envelope_selection`.  All but the two selections is
compiled.

envelope_selection   halfplanes and triangles of the set cover
concept_selection    labelled pieces of at most three edges, by mistakes: what a tile draws
race                 parts of the class are refined side by side, until a draw is decided
strands              such a part: its boxes, tables and bits
views                boxes, and where the halfplanes may still lie, for the curator
core                 trials and splits until one is accepted
target               what is drawn from: the score, its rate and the prior
boxes                one box of dual points, what of it belongs to the class, and the first ones
paper_box            the same in the measure "paper", whose boxes are made otherwise
partition            boxes that cover the class, with their masses in a sum tree
trials               a point of a plain box is kept with the probability it deserves, or splits it
close_pairs          a bound that wrong labels hardly loosen
shared_points        a bound for places with many examples of both labels
pile_gains           what a line may gain in piles of reports
piled_lines          boxes whose lines are weighed by that
factorised_boxes     tighter envelopes for small boxes, divided into cells with weights
uncertain            the examples that a box's edges leave uncertain
factorised_moves     trials in them, and their splits
compiled_beside      a second process compiles the loops of factorised boxes
compaction           light boxes that meet in a face are merged again
chunks               draws from a buffer of uniform 16-bit chunks
"""
