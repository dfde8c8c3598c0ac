"""Private learning through stability.

Source: Bassily, Thakurta, Thakkar, *Model-Agnostic Private Learning via Stability*, 2018 (BTT),
in the docstrings of this package.  Records are divided at random among chunks, any learner is
trained on each chunk, and a query is answered by the chunks' majority if the majority is so large
that no single record could change it, by a noisy test (docs/privacy.md, stability).

votes                  plurality of votes, and its exact distance to instability
composition            what halts of pure privacy cost together: optimal, zCDP, advanced
margins                tails of integer Laplace noise, and the margins that follow
sparse_vector          algorithm 1, and its budget
distance_test          algorithm 2: one query
stable_queries         algorithm 3: queries online
sample_and_aggregate   algorithm 4: chunks, their models and their votes
query_settings         public numbers of chunks and halts (corollary 4.1)
chunk_classifier       what classifiers by chunks share
query_classifier       private classification queries, step by step
label_private          algorithm 5, for any learners, in both modes
stability_learner      algorithm 5 on the grid: polygons
public_points          the points that it has labelled
soft_labels            algorithms 6 to 8: predictions in [0, 1]
soft_classifier        the same on chunks of a sample
quality                agreement, stable histograms, quality, consistent randomization
on_average_stability   definition 5.7 and lemma 5.8
gradient_descent       SGD as the worked case
noisy_votes            the baseline: every query pays
majority_cells         a quick learner for chunks
"""
