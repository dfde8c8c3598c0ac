"""The set cover of KMMS, and the learners of polygons.

polygon_union           unions of polygons, by tiles or by triangles
convex_polygon          convex polygons, likewise
threshold_learner       one border along an axis
cover_run               a run of the cover, as parameters ask for it
set_cover               the engine: counts, selections, budget
sharpening              edges drawn again
arrangement_selection   selection from all cells of the dual arrangement
best_piece              the best piece, without privacy
branch_and_bound        the search that finds it
"""
