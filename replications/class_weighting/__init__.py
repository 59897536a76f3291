"""Replication of He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets.

Run by ``python -m replications.class_weighting``.
"""
