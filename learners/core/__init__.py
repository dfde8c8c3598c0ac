"""What all learners share: estimator, examples, records, releases.

estimator         the base class: parameters, fit, predict, the stream of records
examples          checks points and labels
sklearn_support   parameters, and what scikit-learn asks of an estimator
records           what a step releases, and the diagnostics beside it
releases          what may be published of a run
learned_shape     a release on its map: predicts, draws and writes itself
codec             writes and reads releases as JSON
codec_parts       their steps, pieces and values
selection         a draw from the exponential mechanism, and its score; tasks side by side
support           where there were enough examples
accuracy          how right a shape is, by a check; bounds from independent draws
"""
