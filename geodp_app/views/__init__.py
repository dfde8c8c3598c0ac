"""Everything that needs Qt.  Import from here lazily: the command line works without it."""
