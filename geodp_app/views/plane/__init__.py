"""The plane: target, examples, learned shape, each a layer."""
