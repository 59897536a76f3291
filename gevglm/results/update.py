"""Update: what an update of a fit tested and did, in a table and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.estimates import Measured
from gevglm.display.brief import Summarised
from gevglm.display.digits import p_text

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

STEPS = {
    "none": "no update",
    "constant": "a new constant",
    "slope": "a new constant and slope",
    "refit": "all coefficients fitted again",
}


@dataclass(frozen=True, repr=False)
class Update(Summarised):
    r"""What an update of a fit tested and did.

    Attributes
    ----------
    how : {"none", "constant", "slope", "refit"}
        What was done.
    asked : str
        What was asked for; "auto" for the closed test.
    tests : DataFrame
        The tests made, in their order: ``statistic``, ``df`` and ``pvalue`` of an update against all coefficients.
    alpha : float
        Level of the tests.
    constant, slope : Measured or None
        What was estimated of the recalibration :math:`a + b\,x'\beta_0`; None for what was not.
    n, events, expected : float
        Observations of the new data, their events, and those that the fit expected before the update. Rows that stand for a population have expected
        events in the proportion to it.
    notes : tuple of str
        What else a reader has to know.
    """

    how: str
    asked: str
    tests: pd.DataFrame
    alpha: float
    constant: Measured | None
    slope: Measured | None
    n: float
    events: float
    expected: float
    notes: tuple[str, ...] = ()

    @property
    def estimated(self) -> int | None:
        """How many coefficients were estimated; None for all of them."""
        return {"none": 0, "constant": 1, "slope": 2}.get(self.how)

    def summary_frame(self) -> pd.DataFrame:
        """Return the tests."""
        return self.tests

    def summary(self) -> Summary:
        """Summarise what was tested and done."""
        facts = {
            "Done": STEPS[self.how],
            "Asked for": self.asked,
            "Observations": f"{self.n:,.10g}",
            "Events": f"{self.events:,.10g}",
            "Expected before": f"{self.expected:.5g}",
            "O/E before": f"{self.events / self.expected:.3f}",
        }
        tables = [self.tests.assign(pvalue=[p_text(p) for p in self.tests["pvalue"]])] if len(self.tests) else []
        return summary_table("Update of a fit", facts, tables, self.sentences(), {"statistic": ".4g", "df": ".0f"})

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        return f"{STEPS[self.how]}; {self.events:,.10g} events in {self.n:,.10g} new observations, {self.expected:.4g} expected"

    def sentences(self) -> list[str]:
        """Return what was tested and done, in words."""
        return [self._tested(), self._done(), *self.notes]

    def _tested(self) -> str:
        rows = f"{self.n:,.10g} new observations with {self.events:,.10g} events ({self.expected:.4g} expected before)"
        if self.asked != "auto":
            return f"Updated on {rows}, as asked for: {STEPS[self.how]}. Nothing was tested."
        steps = [
            f"{name} leaves nothing to test"
            if not row["df"]
            else f"{name} was {'rejected' if row['pvalue'] < self.alpha else 'not rejected'} "
            f"(chi2 {row['statistic']:.4g}, df {row['df']:.0f}, p {_equal(row['pvalue'])})"
            for name, row in self.tests.iterrows()
        ]
        return f"Closed test at level {self.alpha:g} on {rows}, each step against all coefficients: {'; '.join(steps)}."

    def _done(self) -> str:
        if self.how == "none":
            return "Done: nothing; the model is the one before."
        if self.how == "refit":
            return "Done: all coefficients were fitted again, and are estimates from the new data alone."
        if self.slope is None:
            return f"Done: {_with_limits(self.constant)} was added to the constant; the other coefficients are those before."
        return (
            f"Done: linear predictors were multiplied by {_with_limits(self.slope)}, and {_with_limits(self.constant)} was added; the other coefficients "
            f"keep their ratios."
        )


def _equal(p: float) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _with_limits(value: Measured | None) -> str:
    assert value is not None
    number = 0.0 if abs(value) < 1e-9 * value.se else float(value)
    return f"{number:.4g} (95 % interval {value.lower:.4g} to {value.upper:.4g})"
