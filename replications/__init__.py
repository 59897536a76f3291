"""Replications of published studies, one package per paper; run by ``python -m replications``."""
