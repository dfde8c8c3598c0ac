"""The target drawing: shapes, their faults, and the tools that edit them.  Free of Qt."""
