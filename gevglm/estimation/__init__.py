"""The solver, on sums over rows."""
