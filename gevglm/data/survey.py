"""Survey designs: the words for them, and which stratum, unit and replicate weights the rows of a table have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.grouping import Grouping
from gevglm.data.observations import times_within
from gevglm.data.replicates import SampleReplicates as SampleReplicates
from gevglm.data.replicates import names_of_replicates, replicates_of
from gevglm.data.tables import aligned, column, vector
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError, listed, unknown_option

LONELY = ("raise", "certainty", "adjust", "average")
LONELY_ALIASES = {"fail": "raise", "remove": "certainty", "centre": "adjust", "center": "adjust", "scaled": "average"}
REPLICATES = ("JK1", "JKn", "BRR", "Fay", "bootstrap")
STRATUM, UNIT = "stratum", "unit"


@dataclass(frozen=True, repr=False)
class Survey:
    """How a sample was drawn, in the words of :func:`survey`."""

    weights: Any
    strata: Any = None
    psu: Any = None
    fpc: Any = None
    nest: bool = True
    lonely: str = "raise"
    replicates: Any = None
    kind: str | None = None
    scale: float | None = None
    rscales: Any = None
    rho: float | None = None
    mse: bool = False

    def __repr__(self) -> str:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        shown = [f"{name}={value!r}" for name, value in given.items() if value is not type(self).__dict__.get(name)]
        return f"survey({', '.join(shown)})"

    @property
    def names(self) -> list[str]:
        """The columns that are given by name, but the weights."""
        return [name for name in (self.strata, self.psu, self.fpc) if isinstance(name, str)]

    def in_columns(self, data: Any) -> bool:
        """Return whether a table has all columns of a design that are given by name."""
        given = [value for value in (self.weights, self.strata, self.psu, self.fpc) if value is not None]
        if not hasattr(data, "columns") or not all(isinstance(value, str) and value in data.columns for value in given):
            return False
        if self.replicates is None:
            return True
        names = names_of_replicates(self, data.columns) or []
        return bool(names) and set(names) <= set(data.columns)


def survey(
    weights: Any,
    *,
    strata: Any = None,
    psu: Any = None,
    fpc: Any = None,
    nest: bool = True,
    lonely: str = "raise",
    replicates: Any = None,
    kind: str | None = None,
    scale: float | None = None,
    rscales: Any = None,
    rho: float | None = None,
    mse: bool = False,
) -> Survey:
    r"""Describe how a sample was drawn, for ``fit(..., design=...)``.

    Parameters
    ----------
    weights : str or array_like
        Sampling weights: how many members of the population a row stands for. Rows of weight zero are outside every domain.
    strata, psu : str or array_like, optional
        The stratum of each row, and its primary sampling unit; rows are units themselves without. Later stages are not needed: their
        variance is in that of the units.
    fpc : str or array_like, optional
        Finite populations: the number of units in the population of the stratum of each row, or (none above 1) the share that was drawn.
    nest : bool
        Whether units of different strata are different ones though they have the same label, as in NHANES. Without, a label in two
        strata is refused.
    lonely : {"raise", "certainty", "adjust", "average"}
        What to do with strata of one unit: refuse them; take them as drawn with certainty, without a variance; as far from the mean
        of all units as they are ("centre" of Stata); or as variable as the other strata in the mean ("scaled").
    replicates : sequence of str, str or array_like, optional
        Replicate weights instead of strata and units: names of columns, a pattern such as ``"repwt*"``, or a matrix.
    kind : {"JK1", "JKn", "BRR", "Fay", "bootstrap"}, optional
        What kind they are.
    scale, rscales : float, array_like, optional
        The factor of all squared deviations, and that of each replicate; by the kind if not given. "JKn" needs `rscales`.
    rho : float, optional
        Of Fay's method.
    mse : bool
        Deviations from the estimate, instead of from the mean of the replicates.

    Returns
    -------
    Survey

    Notes
    -----
    With t the totals over units of the influence of their rows, in stratum h of :math:`n_h` units of which a share :math:`f_h` was drawn,

    .. math:: V = \sum_h (1 - f_h) \frac{n_h}{n_h - 1} \sum_j (t_{hj} - \bar t_h)(t_{hj} - \bar t_h)'.

    A ``subset`` of a fit, and rows with missing values, are a domain: all units and strata of the table count.

    Examples
    --------
    >>> import gevglm
    >>> gevglm.survey("weight", strata="region", psu="district")
    survey(weights='weight', strata='region', psu='district')
    """
    if weights is None:
        raise InvalidOptionError("a survey design needs weights; a column of ones where all rows stand for as many.")
    word = LONELY_ALIASES.get(lonely, lonely)
    if word not in LONELY:
        raise unknown_option("lonely", lonely, LONELY)
    if isinstance(psu, (list, tuple)) and psu and all(isinstance(name, str) for name in psu):
        if len(psu) > 1:
            raise InvalidOptionError(
                f"psu has {len(psu)} columns ({listed(psu)}); give that of the first stage, whose units carry the variance of later ones."
            )
        psu = psu[0]
    found = Survey(weights, strata, psu, fpc, nest, word, replicates, kind, scale, rscales, rho, mse)
    _check_replicates(found)
    return found


def _check_replicates(given: Survey) -> None:
    if given.replicates is None:
        for name in ("kind", "scale", "rscales", "rho"):
            if getattr(given, name) is not None:
                raise IncompatibleOptionsError(f"{name}= goes with replicates=, the columns of replicate weights.")
        return
    for name in ("strata", "psu", "fpc"):
        if getattr(given, name) is not None:
            raise IncompatibleOptionsError(
                f"replicates and {name} both describe the sample: replicate weights know its strata and units; leave {name} out."
            )
    if given.kind not in REPLICATES:
        raise unknown_option("kind", given.kind, REPLICATES)
    if given.kind == "JKn" and given.rscales is None:
        raise InvalidOptionError("kind='JKn' needs rscales, (n_h - 1)/n_h for the stratum of each replicate.")
    if (given.kind == "Fay") != (given.rho is not None):
        raise IncompatibleOptionsError("kind='Fay' and rho go together; rho lies between 0 and 1.")
    if given.rho is not None and not (isinstance(given.rho, Real) and 0.0 <= float(given.rho) < 1.0):
        raise InvalidOptionError(f"rho={given.rho!r} must lie between 0 and 1.")


# -- what the rows of a design know of it -------------------------------------------------------


class UnitGrouping(Grouping):
    """Primary sampling units as clusters in one way, also where two columns name them."""

    @cached_property
    def ways(self) -> list[tuple[float, NDArray]]:
        return [(1.0, np.arange(len(self.keys)))]


@dataclass(frozen=True)
class SampleUnits:
    """Strata and primary sampling units: those of the whole table, of which a design may have some rows only."""

    grouping: UnitGrouping
    strata: NDArray  # of each unit
    fractions: NDArray  # that were drawn of the units of each stratum; 0 without finite populations
    lonely: str
    finite: bool

    @property
    def n_units(self) -> int:
        """The units of the table."""
        return len(self.strata)

    @property
    def n_rows(self) -> int:
        """The rows of the design, which are in memory."""
        assert self.grouping.codes is not None, "the rows are in memory"
        return len(self.grouping.codes)

    @property
    def sizes(self) -> NDArray:
        """The units of each stratum."""
        return np.bincount(self.strata, minlength=len(self.fractions))

    def df(self, seen: NDArray) -> int:
        """Return units minus strata, of the units that were seen."""
        return int(seen.sum()) - len(np.unique(self.strata[seen]))

    def resampled(self, generator: np.random.Generator) -> NDArray:
        r"""Return how often each unit counts in a bootstrap sample (Rao and Wu 1988).

        Of the :math:`n_h` units of a stratum, :math:`n_h - 1` are drawn with replacement; a unit that was drawn r times counts
        :math:`1 + \sqrt{1 - f_h} (r n_h / (n_h - 1) - 1)` times, so that the variance of a total over resamples is that of the design. The unit
        of a stratum of one counts once.
        """
        return 1.0 + np.sqrt(1.0 - self.fractions[self.strata]) * (times_within(self.strata, generator) - 1.0)

    def taken(self, positions: NDArray) -> SampleUnits:
        """Return the units for some of the rows of the design."""
        codes = self.grouping.codes
        return replace(self, grouping=UnitGrouping(self.grouping.keys, None if codes is None else codes[positions]))


def sample_of(given: Survey, frame: pd.DataFrame | None, n: int) -> SampleUnits | SampleReplicates:
    """Return what the rows of a table, or of arrays of n rows, know of the sample."""
    weights = vector(given.weights, frame, "weights of the survey", n)
    assert weights is not None
    refuse_missing_facts(weights, "weights")
    if given.replicates is not None:
        return replicates_of(given, frame, n)
    columns = {STRATUM: given.strata, UNIT: given.psu, "fpc": given.fpc}
    table = {name: _column(values, frame, n, name) for name, values in columns.items() if values is not None}
    table.setdefault(UNIT, pd.Series(np.arange(n)))
    return units_of(given, *keys_of(pd.DataFrame(table)))


def keys_of(facts: pd.DataFrame) -> tuple[pd.DataFrame, NDArray]:
    """Return the distinct units, in the order of their first rows, and which one each row is in."""
    columns = [name for name in (STRATUM, UNIT) if name in facts]
    codes = facts.groupby(columns, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    first = np.unique(codes, return_index=True)[1]
    if "fpc" in facts and (facts["fpc"].to_numpy() != facts["fpc"].to_numpy()[first][codes]).any():
        _refuse_unequal(facts)
    return facts.iloc[first].reset_index(drop=True), codes


def units_of(given: Survey, units: pd.DataFrame, codes: NDArray | None, names: Sequence[str] = ()) -> SampleUnits:
    """Return the sample of a table of distinct units; `names` are those of the columns that blocks carry, if they do."""
    strata, labels = (
        pd.factorize(units[STRATUM]) if STRATUM in units else (np.zeros(len(units), dtype=np.intp), ["all"])
    )
    if not given.nest and STRATUM in units and units[UNIT].duplicated().any():
        label = units.loc[units[UNIT].duplicated(keep=False), UNIT].iloc[0]
        where = units.loc[units[UNIT] == label, STRATUM].tolist()
        raise InvalidDataError(
            f"unit {label!r} is in {len(where)} strata ({listed(map(str, where))}); nest=True takes it as different units with one label."
        )
    fractions = _fractions(units, strata, labels)
    columns = [name for name in (STRATUM, UNIT) if name in units]
    keys = units[columns].set_axis(names or range(len(columns)), axis=1)
    found = SampleUnits(UnitGrouping(keys, codes), strata, fractions, given.lonely, "fpc" in units)
    if found.n_units < 2:
        raise InvalidDataError("all rows are in one unit of one stratum; a survey design needs at least two units.")
    alone = [str(labels[h]) for h in np.flatnonzero((found.sizes == 1) & (fractions < 1.0))]
    if alone and given.lonely == "raise":
        raise InvalidDataError(
            f"{len(alone)} {'stratum has' if len(alone) == 1 else 'strata have'} one unit only ({listed(alone)}), whose variance cannot be told. Join them with others, or say what to do: "
            "survey(..., lonely='adjust'), 'average' or 'certainty'."
        )
    return found


def _fractions(units: pd.DataFrame, strata: NDArray, labels: Any) -> NDArray:
    """Return the share of the units of each stratum that was drawn."""
    sizes = np.bincount(strata, minlength=len(labels)).astype(float)
    if "fpc" not in units:
        return np.zeros(len(labels))
    values = pd.to_numeric(units["fpc"], errors="coerce").to_numpy(float)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InvalidDataError("fpc must be positive numbers: of units in the population of a stratum, or shares.")
    of_strata = np.zeros(len(labels))
    of_strata[strata] = values
    if (of_strata[strata] != values).any():
        _refuse_unequal(units)
    if (of_strata == (1.0 if (of_strata <= 1.0).all() else sizes)).all():
        raise InvalidDataError(
            "fpc says that all units of all strata were drawn: nothing was left to chance, and there are no standard errors. Leave fpc out if the "
            "population is large."
        )
    if (of_strata <= 1.0).all():
        return of_strata
    if (of_strata < 1.0).any():
        raise InvalidDataError("fpc has numbers of units in some strata and shares in others; give one of the two.")
    small = np.flatnonzero(of_strata < sizes)
    if len(small):
        h = small[0]
        raise InvalidDataError(
            f"fpc says that stratum {labels[h]!r} has {of_strata[h]:g} units in the population, but {sizes[h]:g} are in the sample "
            f"({len(small)} such strata)."
        )
    return sizes / of_strata


def _refuse_unequal(facts: pd.DataFrame) -> None:
    by = facts.groupby(STRATUM)["fpc"].nunique() if STRATUM in facts else None
    where = "" if by is None else f" (stratum {by.idxmax()!r} has {by.max()} values)"
    raise InvalidDataError(f"fpc differs between rows of the same stratum{where}; it is a number of the stratum.")


def _column(values: Any, frame: pd.DataFrame | None, n: int, role: str) -> pd.Series:
    if isinstance(values, str):
        if frame is None:
            raise InvalidDataError(f"{role}={values!r} names a column, but the data are arrays; give an array.")
        values = column(frame, values, role)
    elif frame is not None:
        values = aligned(values, frame.index, role)
    found = pd.Series(np.asarray(values) if not isinstance(values, pd.Series) else values).reset_index(drop=True)
    if len(found) != n:
        raise InvalidDataError(f"the {role} of the survey has {len(found)} rows, but the data have {n}.")
    refuse_missing_facts(found, role)
    return found


def refuse_missing_facts(values: Any, role: str) -> None:
    """Refuse rows whose place in the design is not known."""
    missing = int(pd.isna(values).sum())
    if missing:
        raise InvalidDataError(
            f"the {role} of the survey is missing in {missing} of {len(values)} rows; a design is known for every row of the table."
        )
