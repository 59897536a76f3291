"""Rare events that several replications learn: outcomes, and what is known about them."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pandas as pd
from numpy.typing import NDArray

import gevglm
from gevglm.exceptions import MissingDatasetError


@dataclass(frozen=True)
class Events:
    """Outcomes, what is known about them, and their probabilities where those are known."""

    x: NDArray
    y: NDArray
    truth: NDArray | None = None


def mammography() -> Events:
    """11,183 candidate microcalcifications, 2.3 % of them real."""
    table = gevglm.datasets.load("mammography")
    y = table.pop("calcification").to_numpy(dtype=float)
    return Events(table.to_numpy(dtype=float), y)


def bank() -> Events:
    """45,211 calls that sell a deposit, 11.7 % with success; without their duration, which is known afterwards only."""
    table = gevglm.datasets.load("bank").drop(columns="duration")
    x = pd.get_dummies(table.drop(columns="y"), dtype=float)
    return Events(x.to_numpy(dtype=float), (table["y"] == "yes").to_numpy(dtype=float))


def crashes() -> Events:
    """26,217 occupants of cars in crashes, 4.5 % of them killed; columns of categories have one for each level."""
    table = gevglm.datasets.load("nasscds")
    known = table[["dvcat", "airbag", "seatbelt", "frontal", "sex", "ageOFocc", "yearacc", "occRole"]]
    return Events(pd.get_dummies(known, dtype=float).to_numpy(), (table["dead"] == "dead").to_numpy(dtype=float))


def at_hand(*names: str) -> bool:
    """Return whether all these data sets can be had; name on stderr those that cannot."""
    there = True
    for name in names:
        try:
            gevglm.datasets.load(name)
        except MissingDatasetError as missing:
            print(f"skipped: {missing}", file=sys.stderr, flush=True)
            there = False
    return there
