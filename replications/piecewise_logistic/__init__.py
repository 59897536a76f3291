"""Replication of Zhang and Yang (2004), Probabilistic score estimation with piecewise logistic regression (ICML).

Run by ``python -m replications.piecewise_logistic``.
"""
