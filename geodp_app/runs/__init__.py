"""A run as the window sees it: requests, replies, and the log of steps.  Free of Qt."""
