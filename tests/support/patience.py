"""How long tests wait for what other threads and processes do."""

#: Seconds: only what hangs takes so long.  A process that is started and prepared while others
#: compute takes minutes.  What waits without a limit is ended after 1,200 s, with the whole run, by
#: pytest, which says where.
HANGS = 600.0
