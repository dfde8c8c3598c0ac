"""A run of a learner: its process, its log of steps, and what is said of it.  Free of Qt."""
