"""Averaging over links on the twelve tasks of the GEV-canonical paper, and on further tasks that had no part in any choice.

``python -m replications.averaging_links`` runs what is missing in the records and writes the tables.
"""
