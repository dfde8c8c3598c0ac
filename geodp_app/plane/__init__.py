"""What the plane shows, as arrays.  Free of Qt."""
