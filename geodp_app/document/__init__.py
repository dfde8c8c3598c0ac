"""What a person works on: its frozen states, its history, its examples.  Free of Qt."""
