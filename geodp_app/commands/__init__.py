"""The verbs of the command line (`geodp learn`, `geodp plan`, ...), one module each."""
