"""Replication of Caplin, Martin and Marx (2022), Calibrating for class weights by modeling machine learning.

Run by ``python -m replications.class_weights``.
"""
