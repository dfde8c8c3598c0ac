"""Tables of examples, counted where they lie: `geodp learn --table`.

source    where a table lies, before any engine starts
query     which columns hold what, what is wrong with a row, and the query that counts, as an
          expression of Ibis: the only module that imports it
counts    carried out by the engine, with progress and cancel
"""
