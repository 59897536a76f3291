"""From a formula and a table to a design."""
