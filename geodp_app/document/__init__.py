"""The document: what a person edits in the window, as frozen states with undo.  Free of Qt."""
