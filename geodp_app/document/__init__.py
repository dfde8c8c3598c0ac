"""What a person works on: its frozen states, its history, its files.  Free of Qt."""
