"""ScanResults: the tests of a scan, with what is asked of them together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta, chi2
from statsmodels.iolib.summary import Summary

from gevglm._files import check_target, writing
from gevglm.calibration._summary_table import summary_table
from gevglm.exceptions import InvalidOptionError, unknown_option, whole_number

TITLES = {
    "score": "score",
    "lr": "likelihood ratio",
    "firth": "penalised likelihood ratio (Firth)",
    "spa": "score, saddle-point approximation",
}
POINTS = 2000  # of a quantile plot
SHOWN = ("outcome", "column", "carriers", "carrier_events", "coef", "se", "pvalue", "test")


@dataclass(frozen=True)
class ScanResults:
    """Tests of many columns.

    Attributes
    ----------
    table : DataFrame
        One row per column, in their order: ``outcome`` (if there are many), ``column``, ``observations`` without those where the column is missing,
        ``mean`` of the column, ``carriers`` (observations where it is not zero) and ``carrier_events`` (events among them), ``coef``, ``se``, ``statistic``
        (chi-squared with one degree of freedom), ``pvalue``, the ``test`` that they come from, and the ``reason`` of a column that has no test, or an infinite
        estimate. The coefficient of a score test is the first Newton step from zero, and its standard error is that at zero.
    test : str
    threshold : float
    """

    table: pd.DataFrame
    test: str
    threshold: float

    def __repr__(self) -> str:
        best = self.top(1)
        smallest = f", smallest p-value {best['pvalue'].iloc[0]:.2g}" if len(best) else ""
        return f"<ScanResults: {self._counted()}{smallest}>"

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def _counted(self) -> str:
        remarks = int((self.table["reason"] != "").sum())
        counted = f"{len(self.table):,} tests by {TITLES[self.test]}"
        again = int((self.table["test"] == self.test).sum())
        if self.test != "score":
            counted += f" below {self.threshold:g} ({again:,} of them)"
        return counted + (f", {remarks:,} with a reason" if remarks else "")

    @property
    def tested(self) -> pd.DataFrame:
        """The rows that have a p-value."""
        return self.table[self.table["pvalue"].notna()]

    def top(self, n: int = 10) -> pd.DataFrame:
        """Return the rows with the smallest p-values.

        Parameters
        ----------
        n : int
        """
        order = self.table["pvalue"].to_numpy().argsort(kind="stable")
        return self.table.iloc[order[: min(whole_number("n", n, 1), len(self.tested))]]

    @property
    def genomic_control(self) -> float:
        """The median of the tests as chi-squared statistics over that of their distribution: 1 if most columns have no effect, more with confounding."""
        return float(np.median(chi2.isf(self.tested["pvalue"], 1)) / chi2.ppf(0.5, 1))

    @property
    def notes(self) -> list[str]:
        """How many columns have which reason."""
        counts = self.table.loc[self.table["reason"] != "", "reason"].value_counts()
        return [f"{count:,} of {len(self.table):,}: the column {reason}" for reason, count in counts.items()]

    def summary(self, n: int = 10) -> Summary:
        """Return a summary: what was tested, the smallest p-values, and the reasons of columns without a test.

        Parameters
        ----------
        n : int
            Rows of the table.
        """
        tested = len(self.tested)
        level = 0.05 / tested if tested else np.nan
        facts = {
            "Test": TITLES[self.test],
            "Columns": f"{self.table['column'].nunique():,}",
            "Tests": f"{tested:,}",
            "Threshold": "" if self.test == "score" else f"{self.threshold:g}",
            "Genomic control": f"{self.genomic_control:.4f}" if tested else "",
            "Below 0.05 / tests": f"{int((self.tested['pvalue'] < level).sum()):,}",
        }
        top = self.top(n)
        shown = top[[name for name in SHOWN if name in top]]
        formats = {"carriers": ".0f", "carrier_events": ".0f"}
        return summary_table("Scan", facts, shown.set_index(shown.columns[0]), self.notes[:8], formats)

    def quantiles(self) -> pd.DataFrame:
        """Return p-values beside those expected of columns without effect, as minus their decimal logarithms.

        Returns
        -------
        DataFrame
            Columns ``expected``, ``observed``, and the limits ``lower`` and ``upper`` within which 95 % of independent tests are; of many
            tests, all of the smallest and some of the others.
        """
        pvalues = np.sort(self.tested["pvalue"].to_numpy())
        m = len(pvalues)
        rank = np.unique(np.geomspace(1, m, POINTS).astype(int)) if m > POINTS else np.arange(1, m + 1)
        with np.errstate(divide="ignore"):
            found = {
                "expected": (rank - 0.5) / m,
                "observed": pvalues[rank - 1],
                "lower": beta.ppf(0.975, rank, m - rank + 1),
                "upper": beta.ppf(0.025, rank, m - rank + 1),
            }
            return pd.DataFrame({name: -np.log10(values) for name, values in found.items()})

    def plot(self, kind: str = "qq", ax=None):
        """Draw the tests; see :func:`gevglm.plots.plot_quantiles` and :func:`gevglm.plots.plot_scan`.

        Parameters
        ----------
        kind : {"qq", "manhattan"}
            P-values against those expected, or along the columns.
        ax : Axes, optional
        """
        from gevglm.plots import plot_quantiles, plot_scan

        if kind not in ("qq", "manhattan"):
            raise unknown_option("kind", kind, ("qq", "manhattan"))
        if not len(self.tested):
            raise InvalidOptionError("no column has a test that could be drawn; .notes says why.")
        if kind == "qq":
            return plot_quantiles(self.quantiles(), self.genomic_control, ax=ax)
        tested = self.tested
        groups = tested["outcome"].to_numpy() if "outcome" in tested else None
        with np.errstate(divide="ignore"):
            heights = -np.log10(tested["pvalue"].to_numpy())
        return plot_scan(tested.index.to_numpy(), heights, -np.log10(0.05 / len(tested)), groups, ax=ax)

    def save(self, path: str | Path) -> None:
        """Save the table as a csv or parquet file.

        Parameters
        ----------
        path : path
            Its name ends in .csv, .csv.gz, .parquet or .pq.
        """
        path = check_target(path)
        parquet = path.suffix in (".parquet", ".pq")
        if not parquet and not path.name.endswith((".csv", ".csv.gz")):
            raise InvalidOptionError(f"{path.name!r} is neither a .csv nor a .parquet file by its name.")
        with writing(path) as file:
            if parquet:
                self.table.to_parquet(file, index=False)
            else:
                self.table.to_csv(file, index=False, compression="gzip" if path.suffix == ".gz" else None)
