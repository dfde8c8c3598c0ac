"""Does long work off the window's thread.  Qt for signals only."""
