"""What all learners share.

estimator         fit, predict and the stream of records of a learner of regions
examples          what is asked of points and labels
sklearn_support   parameters, and what scikit-learn asks of an estimator
records           what a step publishes, and what only the curator may see
releases          what a run publishes
borders           segments along which a release's labels change
learned_shape     a release that predicts, draws and writes itself
codec             releases as JSON
selection         what samplers of pieces have in common
support           where there were enough examples
accuracy          how right a shape is; bounds from independent draws
"""
