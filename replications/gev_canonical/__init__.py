"""Replication of Agarwal, Narasimhan, Kalyanakrishnan and Agarwal (2014), GEV-canonical regression (ICML).

Run by ``python -m replications.gev_canonical``.
"""
