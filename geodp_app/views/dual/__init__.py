"""The dual plane: sheets, what is painted on them, and their controls."""
