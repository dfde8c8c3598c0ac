"""What the dual plane shows: lines, densities, boxes, cells, as arrays.  Free of Qt."""
