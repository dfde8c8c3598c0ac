"""Counts the examples of tables where they lie, by their engines: `geodp learn --table`.

source    reads where a table lies, before any engine starts; finds which columns hold what, and
          says what is wrong with a row
query     builds the query, an expression of Ibis: the only module that imports it
counts    has it carried out by the engine, with progress and cancel
"""
