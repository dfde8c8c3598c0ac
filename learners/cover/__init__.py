"""The set cover of KMMS, and the learners of polygons.

polygons                learns unions of polygons and convex polygons, by tiles or by a cover
threshold_learner       learns one border along an axis
cover_run               sets up a run of the cover by its parameters
set_cover               runs the cover: counts, selections, budget
sharpening              draws the edges of its triangles again
arrangement_selection   draws a piece from the cells of the dual arrangement
best_piece              finds the best piece, without privacy
branch_and_bound        searches boxes for it
"""
