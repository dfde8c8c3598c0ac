"""Parts that all views are made of; they know nothing of runs and documents."""
