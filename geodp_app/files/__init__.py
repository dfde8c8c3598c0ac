"""Files: examples, sessions, runs, learned shapes; written whole, read strictly.  Free of Qt."""
