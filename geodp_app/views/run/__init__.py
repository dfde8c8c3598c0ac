"""Steers a run in the window, and shows its timeline, its errors and figures, its reasons."""
