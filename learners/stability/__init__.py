"""Learns privately through stability: by votes of models that are trained on parts of the sample.

Source: Bassily, Thakurta, Thakkar, *Model-Agnostic Private Learning via Stability*, 2018 (BTT),
in the docstrings of this package.  Records are divided at random among chunks, any learner is
trained on each chunk, and a query is answered by the chunks' majority if the majority is so large
that no single record could change it, by a noisy test (docs/privacy.md, stability).

stable_queries         algorithms 1 to 3: sparse vector, its budget and tails of its noise; queries
                       by their distance to instability; T and K
sample_and_aggregate   algorithm 4: chunks, their models and their votes; and the baseline, where
                       every query pays
classifiers            answers queries by votes: classes, or numbers in [0, 1]
label_private          algorithm 5, for any learners, in both modes
stability_learner      algorithm 5 on the grid: polygons
soft_labels            algorithms 6 to 8: predictions in [0, 1]
query_sizes            how many examples queries and labels need, with T and K
quality                agreement, consistent randomization, on-average stability,
                       predictions near 0 or 1
base_learners          what is trained on chunks: majorities of cells, SGD as the worked case
"""
