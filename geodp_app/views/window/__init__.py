"""The window: what is in it, its files, its actions, its tour, and pictures of it."""
