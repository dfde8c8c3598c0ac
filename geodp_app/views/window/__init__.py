"""The main window: its views, its files, its actions, its tour, and pictures of it."""
