"""Draws pieces of the plane by refining an envelope over the dual plane.

The law and its proof: :mod:`learners.envelope.envelope_selection`.  The loops are compiled.

envelope_selection   draws halfplanes and triangles of the set cover, and by mistakes labelled
                     pieces of at most three edges: for tiles and zones
race                 runs strands side by side, until a draw is decided
strands              a part of the class, searched with its own boxes, tables and bits
views                shows the curator the boxes, and where the halfplanes may still lie
core                 tries and splits until a piece is accepted
target               the law that is drawn from, and bounds of points with both labels
boxes                all pieces whose edges lie in given rectangles; and the first boxes
partition            boxes that cover the class, with their masses in a sum tree
trials               keeps a point of a box with the probability it deserves, or splits the box
close_pairs          bounds that wrong labels hardly loosen
pile_gains           bounds what a line may gain in piles of reports
piled_lines          draws from boxes whose lines are weighed by that
factorised_boxes     tightens the envelope on small boxes, by cells with weights; tries them
workspace            what is known of the box at hand, and of some before it
uncertain            lists examples that only some pieces of a box may hold, and counts them
compiled_beside      compiles loops in a second process
compaction           merges light boxes that meet in a face again
chunks               draws from a buffer of uniform 16-bit chunks
"""
