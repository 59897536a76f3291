"""The plots that results offer: numbers are gathered here, and drawn by :mod:`gevglm.plots`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gevglm.data.design import FIT_AGAIN
from gevglm.effects.nomogram import Nomogram, nomogram_of
from gevglm.exceptions import InvalidOptionError, unknown_option
from gevglm.results.core import ResultsCore
from gevglm.results.predicted_rows import assessed_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PER = ("unit", "sd")
INFLUENCE = ("cooks", "dfbetas")
ROWS_DRAWN = 200  # the most influential ones


class Plotting(ResultsCore):
    """Plots of a fit; a part of :class:`gevglm.BinaryGLMResults`.

    All of them return matplotlib's Axes and take ``ax=`` to draw on; ``ax.figure.savefig("picture.png")`` saves one.
    """

    def plot_coefficients(
        self,
        others: Mapping[str, ResultsCore] | None = None,
        *,
        name: str = "this model",
        per: str = "unit",
        intercept: bool = False,
        exp: bool = False,
        alpha: float = 0.05,
        method: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the coefficients with their intervals, also of several models side by side.

        Parameters
        ----------
        others : mapping of str to BinaryGLMResults, optional
            Other models. Coefficients of different links are on different scales: compare signs and significance, not sizes.
        name : str
            What this model is called beside the others.
        per : {"unit", "sd"}
            Coefficients unchanged, or times the standard deviation of their column, which makes them comparable with each other.
        intercept : bool
            Draw the constant too.
        exp : bool
            Draw what :meth:`exp_params` has, odds ratios of a logit for instance, on a logarithmic axis; all models need such a link.
        alpha, method
            See :meth:`conf_int`.
        ax : Axes, optional
        """
        from gevglm.plots import plot_coefficients

        models: dict[str, Any] = {name: self, **(others or {})}
        tables = {
            label: coefficient_table(results, per=per, intercept=intercept, alpha=alpha, method=method)
            for label, results in models.items()
        }
        what = ratio_name(models) if exp else "coefficient"
        if exp:
            for label, table in tables.items():
                table[:] = np.log(models[label].model.population_link.ratios(table.to_numpy()))
        what += "" if per == "unit" else " per standard deviation" if exp else " times standard deviation"
        xlabel = f"{what}, {100 * (1 - alpha):g} % intervals"
        return plot_coefficients(tables, xlabel=xlabel, exponentiated=exp, ax=ax)

    def plot_effect(
        self,
        variable: str,
        by: str | None = None,
        *,
        at: str = "average",
        values: Any = None,
        alpha: float = 0.05,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the predicted risk along a variable, with its confidence band.

        Parameters
        ----------
        variable, by, at, values, alpha
            See :func:`gevglm.effects.curves.effect_curve`.
        ax : Axes, optional
        """
        from gevglm.effects.curves import effect_curve
        from gevglm.plots import plot_effect

        return plot_effect(effect_curve(self, variable, by=by, at=at, values=values, alpha=alpha), ax=ax)

    def plot_nomogram(self, *, ax: Axes | None = None) -> Axes:
        """Draw the nomogram of :meth:`nomogram`: add the points of a person's values, and read the risk below their total."""
        from gevglm.plots import plot_nomogram

        return plot_nomogram(nomogram_of(self), ax=ax)

    def nomogram(self) -> Nomogram:
        """Return the points of the values of each variable, and the risks of their totals, as ``nomogram`` of R's rms.

        Returns
        -------
        Nomogram
            ``points`` is the table of points, ``totals`` and ``risks`` say what they add up to; see :class:`~gevglm.effects.nomogram.Nomogram`.

        Examples
        --------
        >>> import gevglm
        >>> res = gevglm.fit("event ~ age + smoker", gevglm.datasets.simulate_study(rng=1), link="logit")
        >>> float(res.nomogram().points["points"].max())
        100.0
        """
        return nomogram_of(self)

    def plot_link(self, ax: Axes | None = None) -> Axes:
        """Draw the fitted link, the logit nearest to it, and shares of events; in the population, if rows were sampled by their outcome."""
        from gevglm.calibration.curves import link_curve
        from gevglm.plots import plot_link

        y, _, weights = assessed_rows(self)
        linear = self.model.predict(self._params, which="linear")
        return plot_link(link_curve(self.model.population_link, y, linear, weights), ax=ax)

    def plot_risks(self, data: Any = None, *, endog: Any = None, ax: Axes | None = None) -> Axes:
        """Draw how predicted risks are spread among events and among the others.

        Parameters
        ----------
        data, endog
            New data and their outcomes, see :meth:`calibration`; the rows of the fit by default.
        ax : Axes, optional
        """
        from gevglm.calibration.curves import risk_spread
        from gevglm.plots import plot_risk_spread

        return plot_risk_spread(risk_spread(*assessed_rows(self, data, endog)), ax=ax)

    def plot_roc(self, data: Any = None, *, endog: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the ROC curve; see :meth:`plot_risks` for the parameters."""
        from gevglm.calibration.curves import roc_curve
        from gevglm.plots import plot_roc

        return plot_roc(roc_curve(*assessed_rows(self, data, endog)), ax=ax)

    def plot_precision_recall(self, data: Any = None, *, endog: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the precision-recall curve and the prevalence; see :meth:`plot_risks` for the parameters."""
        from gevglm.calibration.curves import precision_recall_curve
        from gevglm.plots import plot_precision_recall

        return plot_precision_recall(precision_recall_curve(*assessed_rows(self, data, endog)), ax=ax)

    def plot_decision(
        self, data: Any = None, *, endog: Any = None, thresholds: Any = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the net benefit of acting on the predicted risks; see :meth:`plot_risks` and :func:`gevglm.calibration.curves.decision_curve`."""
        from gevglm.calibration.curves import decision_curve
        from gevglm.plots import plot_decision

        return plot_decision(decision_curve(*assessed_rows(self, data, endog), thresholds=thresholds), ax=ax)

    def plot_influence(self, kind: str = "cooks", *, ax: Axes | None = None) -> Axes:
        """Draw how single rows influence the fit; of many rows, the 200 most influential.

        Parameters
        ----------
        kind : {"cooks", "dfbetas"}
            Cook's distance, or the change of each coefficient in standard errors.
        ax : Axes, optional
        """
        from gevglm.plots import plot_cooks_distance, plot_dfbetas

        if kind not in INFLUENCE:
            raise unknown_option("kind", kind, INFLUENCE)
        rows = influential_rows(self, ROWS_DRAWN)
        if kind == "cooks":
            return plot_cooks_distance(rows, ax=ax)
        return plot_dfbetas(rows[list(self.model.exog_names)], ax=ax)


def coefficient_table(
    results: ResultsCore, *, per: str = "unit", intercept: bool = False, alpha: float = 0.05, method: str | None = None
) -> pd.DataFrame:
    """Return coefficients with their limits, as columns ``estimate``, ``ci_lower`` and ``ci_upper``; see :meth:`Plotting.plot_coefficients`."""
    if per not in PER:
        raise unknown_option("per", per, PER)
    limits = np.asarray(results.conf_int(alpha=alpha, method=method))
    numbers = np.column_stack([results.estimates, limits])
    design = results.model.design
    if per == "sd":
        design.need_rows("per='sd'", "use per='unit'")
        numbers = numbers * np.sqrt(design.column_variances(results.model.sampling.population_weights))[:, None]
    table = pd.DataFrame(numbers, index=results.model.exog_names, columns=["estimate", "ci_lower", "ci_upper"])
    constant = results.model.data.const_idx
    return table if intercept or constant is None or len(table) == 1 else table.drop(index=table.index[constant])


def influential_rows(results: ResultsCore, most: int) -> pd.DataFrame:
    """Return the most influential rows in their order: ``position``, ``event``, ``cooks_distance``, and the dfbetas of each coefficient."""
    model = results.model
    model.design.need_rows("influence", FIT_AGAIN)
    influence = results.get_influence()
    distance = influence.cooks_distance[0]
    rows = np.sort(np.argsort(-distance, kind="stable")[:most])
    facts = {"position": rows, "event": model.endog[rows] > 0.5, "cooks_distance": distance[rows]}
    changes = influence.d_params[rows] / np.where(results.is_omitted, 1.0, np.asarray(results.bse))
    table = pd.DataFrame(facts, index=model.design.labels_of(list(rows)))
    return pd.concat([table, pd.DataFrame(changes, index=table.index, columns=model.exog_names)], axis=1)


def ratio_name(models: Mapping[str, Any]) -> str:
    """Return what the exponentiated coefficients of all models are; refuse links that have none, or different ones."""
    kinds = {name: getattr(res, "_results", res).model.population_link.exponentiated for name, res in models.items()}
    if None in kinds.values() or len(set(kinds.values())) > 1:
        words = (
            f"{name!r} has {'none' if kind is None else kind.replace('_', ' ') + 's'}" for name, kind in kinds.items()
        )
        raise InvalidOptionError(
            f"exp=True needs models whose exponentiated coefficients are ratios of the same kind: {', '.join(words)}; leave it out, or draw them apart."
        )
    return str(next(iter(kinds.values()))).replace("_", " ")
