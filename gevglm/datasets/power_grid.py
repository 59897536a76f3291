r"""Faults of a power grid: lines of the IEEE 39-bus network that are lost, and what meters of voltage angles see of it.

An alternating current network with voltages :math:`V` and admittances :math:`Y` carries the powers

.. math:: S = V \odot \overline{Y V}

and the voltages for given powers are found by Newton's method in angles and magnitudes, for many loads at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gevglm.exceptions import GevglmError, InvalidOptionError, MissingDatasetError

CASES = 15  # of each line, as in the paper
COMMON_LOAD, BUS_LOAD = (0.8, 1.0), (0.85, 1.15)
STEPS, TOLERANCE = 20, 1e-9  # of Newton's method; in units of 100 MVA
AT_ONCE = 256  # cases whose Jacobians are held together


@dataclass(frozen=True)
class Network:
    """Buses, and the branches between them; powers in units of 100 MVA."""

    demand: NDArray  # complex, of each bus
    supply: NDArray  # active power generated at each bus
    start: NDArray  # complex voltages that Newton's method starts from, and the known ones
    slack: int  # the bus whose angle is known
    controlled: NDArray  # buses, beside the slack, whose voltage magnitude is known
    ends: NDArray  # buses at the ends of each branch; of shape (b, 2)
    blocks: NDArray  # admittances of each branch, of shape (b, 2, 2)

    def without(self, line: int) -> Network:
        """Return the network without a branch, counted from 1; with all of them for 0."""
        if line == 0:
            return self
        kept = np.arange(len(self.ends)) != line - 1
        return replace(self, ends=self.ends[kept], blocks=self.blocks[kept])

    @property
    def is_whole(self) -> bool:
        """Whether every bus is connected with every other."""
        n = len(self.demand)
        graph = coo_array((np.ones(len(self.ends)), tuple(self.ends.T)), shape=(n, n))
        return bool(connected_components(graph, directed=False)[0] == 1)

    @property
    def admittances(self) -> NDArray:
        """The matrix of admittances between buses."""
        Y = np.zeros((len(self.demand), len(self.demand)), dtype=complex)
        rows, columns = np.repeat(self.ends, 2, axis=1), np.tile(self.ends, 2)
        np.add.at(Y, (rows, columns), self.blocks.reshape(-1, 4))
        return Y

    def voltages(self, power: NDArray) -> NDArray:
        """Return the voltages at which each bus takes the power given for it; one row per case."""
        return np.concatenate([self._solved(power[i : i + AT_ONCE]) for i in range(0, len(power), AT_ONCE)])

    def _solved(self, power: NDArray) -> NDArray:
        Y, n = self.admittances, len(self.demand)
        turned = np.setdiff1d(np.arange(n), [self.slack])  # buses whose angle is unknown
        sized = np.setdiff1d(turned, self.controlled)  # buses whose magnitude is unknown
        unit = np.eye(n)
        voltage = np.tile(self.start, (len(power), 1))
        for _ in range(STEPS):
            current = voltage @ Y.T
            missing = voltage * current.conj() - power
            gap = np.hstack([missing.real[:, turned], missing.imag[:, sized]])
            if np.abs(gap).max() < TOLERANCE:
                return voltage
            direction = voltage / np.abs(voltage)
            flow = voltage[:, :, None] * Y.conj() * voltage[:, None, :].conj()
            angle = 1j * (unit * (voltage * current.conj())[:, :, None] - flow)
            size = flow / np.abs(voltage)[:, None, :] + unit * (current.conj() * direction)[:, :, None]
            columns = np.concatenate([angle[:, :, turned], size[:, :, sized]], axis=2)
            jacobian = np.concatenate([columns.real[:, turned], columns.imag[:, sized]], axis=1)
            step = np.linalg.solve(jacobian, gap[:, :, None])[:, :, 0]
            angles, sizes = np.angle(voltage), np.abs(voltage)
            angles[:, turned] -= step[:, : len(turned)]
            sizes[:, sized] -= step[:, len(turned) :]
            voltage = sizes * np.exp(1j * angles)
        raise GevglmError("the power flow of some case has no solution; draw others.")


def simulate_outages(
    lines: ArrayLike | None = None, noise: float = 0.0, rng: np.random.Generator | int | None = None
) -> pd.DataFrame:
    r"""Outages of lines of the IEEE 39-bus network: how the voltage angles across its branches change.

    The stand-in for the power-grid data of He and Cheng (2021), which cannot be had any more. Before each outage every load is the usual
    one times a common factor between 0.8 and 1 and a factor of its own between 0.85 and 1.15; generators share the total. Voltages before and
    after are those of the alternating current power flow.

    Parameters
    ----------
    lines : array_like of int, optional
        The branch that is lost in each case, from 1 to 46; 0 for none. By default 15 cases of each of the 35 branches without which
        the network is still whole.
    noise : float
        Standard deviation of the noise of the meters, in degrees.
    rng : Generator or int, optional
        Source of randomness.

    Returns
    -------
    DataFrame
        ``line``, and ``d1`` to ``d46``, the change of the angle between both ends of each branch, in degrees.

    Raises
    ------
    MissingDatasetError
        If `PYPOWER <https://pypi.org/project/PYPOWER>`_, which has the network, is not installed.

    References
    ----------
    He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets, Frontiers in Big Data 4.
    """
    rng, network = np.random.default_rng(rng), ieee39()
    if not (np.isscalar(noise) and float(noise) >= 0.0):  # type: ignore[arg-type]
        raise InvalidOptionError(f"noise={noise!r} is a standard deviation in degrees and must not be negative.")
    whole = [line for line in range(1, len(network.ends) + 1) if network.without(line).is_whole]
    chosen = np.repeat(whole, CASES) if lines is None else _checked(lines, whole, len(network.ends))
    n = len(network.demand)
    factor = rng.uniform(*COMMON_LOAD, (len(chosen), 1)) * rng.uniform(*BUS_LOAD, (len(chosen), n))
    load = factor * network.demand
    share = load.real.sum(axis=1, keepdims=True) / network.demand.real.sum()
    power = share * network.supply - load
    before = network.voltages(power)
    after = before.copy()
    for line in np.setdiff1d(chosen, [0]):
        after[chosen == line] = network.without(int(line)).voltages(power[chosen == line])
    tail, head = network.ends.T
    turned = np.angle(after[:, tail] / after[:, head] * (before[:, head] / before[:, tail]), deg=True)
    seen = turned + noise * rng.standard_normal(turned.shape)
    table = pd.DataFrame(seen, columns=[f"d{j + 1}" for j in range(len(network.ends))])
    table.insert(0, "line", chosen)
    return table


def _checked(lines: ArrayLike, whole: Sequence[int], number: int) -> NDArray:
    """Return the lines that are lost as whole numbers; refuse those that are none, or whose loss splits the network."""
    chosen = np.atleast_1d(np.asarray(lines))
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not np.isin(chosen, [0, *whole]).all():
        splits = sorted(set(range(1, number + 1)) - set(whole))
        raise InvalidOptionError(
            f"lines has {np.setdiff1d(chosen, [0, *whole]).tolist()[:5]}, but must have whole numbers from 1 to {number}, or 0 for none, and not {splits}, whose loss "
            f"splits the network."
        )
    return chosen


def ieee39() -> Network:
    """Return the IEEE 39-bus (New England) network, as PYPOWER has it."""
    try:
        from pypower.case39 import case39
    except ImportError:
        raise MissingDatasetError(
            "the IEEE 39-bus network is that of PYPOWER, which is not installed: pip install pypower."
        ) from None
    case = case39()
    bus, branch, gen, base = case["bus"], case["branch"], case["gen"], case["baseMVA"]
    place = {int(number): i for i, number in enumerate(bus[:, 0])}
    ends = np.array([[place[int(a)], place[int(b)]] for a, b in branch[:, :2]])
    at = np.array([place[int(number)] for number in gen[:, 0]])
    supply, start = np.zeros(len(bus)), np.ones(len(bus), dtype=complex)
    np.add.at(supply, at, gen[:, 1] / base)
    start[at] = gen[:, 5]
    series, shunt = 1.0 / (branch[:, 2] + 1j * branch[:, 3]), 0.5j * branch[:, 4]
    tap = np.where(branch[:, 8] == 0.0, 1.0, branch[:, 8])
    blocks = np.array([[(series + shunt) / tap**2, -series / tap], [-series / tap, series + shunt]]).transpose(2, 0, 1)
    slack = int(np.flatnonzero(bus[:, 1] == 3)[0])
    return Network((bus[:, 2] + 1j * bus[:, 3]) / base, supply, start, slack, np.setdiff1d(at, [slack]), ends, blocks)
