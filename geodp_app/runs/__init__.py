"""A run: its protocol and process, its log of steps, and what is said of it.  Free of Qt."""
