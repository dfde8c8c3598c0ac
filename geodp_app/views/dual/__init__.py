"""Shows the dual plane: its sheets, what is painted on them, and their controls."""
