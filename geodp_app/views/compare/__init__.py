"""The window in which learners are compared."""
