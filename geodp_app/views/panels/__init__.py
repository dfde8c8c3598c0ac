"""Panels and dialogs: settings, theorem, import, vertices, keys."""
