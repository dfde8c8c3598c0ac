"""A run in the window: its steering, its timeline, its errors and figures, its reasons."""
