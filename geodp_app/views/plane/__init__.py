"""Shows the plane: target, examples, learned shape, each a layer."""
