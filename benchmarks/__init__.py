"""Benchmarks: speed against the peers, and simulation studies; run by ``python -m benchmarks``.

``python -m benchmarks`` (or ``make bench``) measures the tasks of all modules of :mod:`benchmarks.speed` that declare some, writes
``results/speed.json``, makes ``results/speed.md`` from it, prints the table beside the record of the last commit, and writes the sentences
on speed in README and documentation that :mod:`benchmarks.claims` lists. ``python -m benchmarks core firth`` measures those of two modules, and
leaves the rest of the record as it is.

A module takes part by a function ``tasks(tiny=False)`` that returns :class:`~benchmarks.speed.record.Task` objects: a name and a size, which together
identify it in the record; ``make``, which makes the data and returns calls by name, ``"gevglm"`` among them and all others peers; the least ratio of
each peer's time to ours as ``goals``, or the most that ours may take as ``limit``. With ``measured=True`` the calls return what they took, in seconds
or, with ``unit="MB"``, megabytes. What would take longer than ``timing.PATIENCE`` in all rounds takes part in fewer, in three at least. ``tiny=True``
asks for the same tasks at a size that takes no time, for the test of the benchmarks.

Modules with a function ``run()`` are longer reports, or simulation studies, that return markdown; they run by name only: ``python -m benchmarks
speed.calibration``, ``python -m benchmarks simulation``.
"""
