"""The rows of benchmarks/sources.py: what each source states, checked at the n it plans itself."""
