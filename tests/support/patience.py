"""How long tests wait for what other threads and processes do."""

#: Seconds: only what hangs takes so long.  A process that is started and prepared while others
#: compute takes minutes; a test that lasts longer is ended by pytest, which says where.
HANGS = 600.0
