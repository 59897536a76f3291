"""PanelResults: what a fit with absorbed constants says, in statsmodels' words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import statsmodels.base.wrapper as wrap
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.covariance.degrees import OfColumns
from gevglm.data.new_rows import read_matrix, read_table
from gevglm.data.tables import as_frame, columns_given
from gevglm.estimation.concentrated import ConcentratedLikelihood
from gevglm.exceptions import (
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    listed,
    unknown_option,
)
from gevglm.inference.profile import PenalisedLikelihood
from gevglm.options import SATTERTHWAITE, FitOptions
from gevglm.panel.constants import Constants
from gevglm.panel.estimation import PanelFit, events_and_risk
from gevglm.panel.risks import AllUnits, bootstrapped, marginal_effects, of_all_units, slopes_by
from gevglm.panel.summary import INSTEAD, facts_of, notes_on_units
from gevglm.panel.wild import WildWithin
from gevglm.results.core import check_alpha
from gevglm.results.within_groups import WithinGroups, WithinGroupsWrapper

if TYPE_CHECKING:
    from gevglm.panel.model import PanelGLM

PREDICTIONS = ("mean", "linear")
NEW_UNITS = ("raise", "average")
SLOPES = ("fit", "conditional")


class PanelResults(WildWithin, Constants, WithinGroups):
    """Results of a binary regression whose units (and periods) have constants, which are estimated and not shown.

    Attributes
    ----------
    params, bse, tvalues, pvalues : array_like of shape (k,)
        The slopes.
    n_units, n_levels : int, list of int
        Units in the fit; levels of each absorbed factor in the fit.
    n_units_dropped, n_rows_dropped : int
        Units (and levels of a second factor) with one outcome only, and their rows, which were left out.
    nobs, n_events : float
        Observations and events in the fit.
    bias_of_slopes : ndarray or None
        Estimated bias of maximum likelihood: subtracted by ``bias="correction"``, and what the plain fit warns of.
    converged, n_iter, decrement, reason
        How the iteration ended.
    xi, xi_bse : float or None
        Shape of the link, and its standard error after ``xi="ml"``.
    separation : Separation or None
        Which estimates are infinite, if any.
    omitted : list of str
        Columns that do not vary within units, or are combinations of others there: coefficient and standard error are 0.
    """

    title, instead = "Binary Regression Results, constants absorbed", INSTEAD

    def __init__(self, model: PanelGLM, fit: PanelFit, omitted: dict[int, tuple[int, ...]], options: FitOptions):
        names, panel, found = model.names, fit.panel, fit.within.estimate
        kept = np.delete(np.arange(len(names)), list(omitted))
        params, matrix = np.zeros(len(names)), np.zeros((len(names), len(names)))
        params[kept] = found.params[len(found.params) - len(kept) :]
        spread, self.xi_bse = fit.within.covariance(fit.covariance), None
        if fit.shape is not None:
            joint = fit.shape.covariance()
            spread, self.xi_bse = joint[-1 - len(kept) : -1, -1 - len(kept) : -1], float(np.sqrt(joint[-1, -1]))
        if fit.separation is not None:
            unknown = np.flatnonzero(fit.separation.limits != 0.0)
            spread = spread.copy()
            spread[unknown] = spread[:, unknown] = np.nan
        matrix[np.ix_(kept, kept)] = spread
        if options.use_t == SATTERTHWAITE:
            m = panel.groups.n_levels
            places = np.full(len(names), -1)
            places[kept] = m + np.arange(len(kept))
            self._degrees = OfColumns(fit.covariance.satterthwaite(fit.within.beside_units), places, m + len(kept))
        super().__init__(model, params, matrix, 1.0, use_t=self._degrees is not None)
        if self._degrees is not None:
            self.df_resid_inference = self._degrees_of_each  # the name that statsmodels looks for
        self.cov_params_default = matrix
        self.cov_type, self.cov_kwds = fit.covariance.name, {"description": fit.covariance.description}
        self.bias, self.loss, self.link, self.options = fit.bias, fit.loss, fit.loss.link, options
        self.all_units, self.separation = fit.all_units, fit.separation
        self.converged, self.n_iter, self.reason = found.converged, found.n_iter, found.reason
        self.decrement, self.bias_of_slopes = found.decrement, fit.bias_of_slopes
        self.omitted = [names[j] for j in omitted]
        self.nobs, self.n_events = panel.design.n_total, panel.design.n_events
        self.absorbed = [factor.name for factor in panel.factors]
        self.groups = " and ".join(self.absorbed)
        self.n_levels = [len(factor) for factor in panel.factors]
        self.n_units, self.left_out = self.n_levels[0], panel.left_out
        self.n_units_dropped = sum(one.units for one in panel.left_out)
        self.n_rows_dropped = sum(one.rows for one in panel.left_out)
        constants = len(panel.groups) + panel.groups.n_levels
        self.df_model, self.df_resid = (
            float(len(kept) + constants - 1),
            float(panel.design.sum_freq - len(kept) - constants),
        )
        self._kept, self._fit, self._loss_value = kept.tolist(), fit, found.value

    # -- the likelihood --------------------------------------------------------------------

    @property
    def llf(self) -> float:
        """The log-likelihood at the estimates, of the units in the fit."""
        self._need_likelihood("llf")
        return -self._loss_value

    @cached_property
    def llnull(self) -> float:
        """The log-likelihood with constants only."""
        self._need_likelihood("llnull")
        fit = self._fit
        empty = fit.panel.with_columns(fit.panel.columns[:0])
        problem = PanelFit(empty, fit.loss, fit.options, None, fit.covariance, False).problem
        return -problem.estimate().value

    def lr_test(self) -> tuple[float, float, int]:
        """Likelihood-ratio test that all slopes are zero: statistic, p-value and degrees of freedom."""
        if self.bias is not None or not self.loss.is_likelihood or self._fit.shape is not None:
            return super().lr_test()
        statistic, k = 2.0 * (self.llf - self.llnull), len(self._kept)
        return statistic, float(chi2.sf(statistic, k)), k

    @property
    def xi(self) -> float | None:
        """Shape of the link, if it has one."""
        return self.link.shape

    def xi_conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """Interval of a shape that was estimated, by profile likelihood, cut off at the ends of the grid."""
        check_alpha(alpha)
        if self._fit.shape is None:
            raise self._not_defined("xi_conf_int", "the shape was not estimated; it is by xi='ml'")
        return self._fit.shape.interval(alpha)

    def _profile_likelihood(self, what: str) -> PenalisedLikelihood:
        self._need_likelihood(what)
        fit = self._fit
        if fit.shape is not None:
            raise InvalidOptionError(
                f"{what} is not defined after {self.link.shape_name}='ml' beside absorbed constants; use Wald's intervals and tests, which account for "
                "the shape, or give it as a number."
            )
        if fit.bias is not None and not fit.bias.maximises_likelihood(fit.loss):
            raise InvalidOptionError(
                f"{what} needs a penalised likelihood, which bias={fit.bias.word!r} does not have with {fit.loss!r}; use Wald's intervals and tests, or bias='jeffreys'."
            )
        return self._profiled

    @cached_property
    def _profiled(self) -> PenalisedLikelihood:
        fit = self._fit
        found = fit.within.estimate
        concentrated = ConcentratedLikelihood(fit.problem, found.params, found.information)
        infinite = None if fit.separation is None else fit.separation.limits
        rows = fit.panel.design.n_rows
        return PenalisedLikelihood.at(concentrated.objective, concentrated.slopes, rows, infinite=infinite)

    @property
    def _is_penalised(self) -> bool:
        return self.bias is not None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_profiled"}

    @property
    def aic(self) -> float:
        """Akaike's criterion, with all constants counted, and a shape that was estimated."""
        self._need_maximum("aic")
        return 2.0 * self._counted - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz' criterion, with all constants counted, and a shape that was estimated."""
        self._need_maximum("bic")
        return float(np.log(self.nobs)) * self._counted - 2.0 * self.llf

    @property
    def _counted(self) -> float:
        return self.df_model + 1.0 + (self._fit.shape is not None)

    def _need_maximum(self, what: str) -> None:
        if self.bias is not None:
            raise InvalidOptionError(
                f"{what} is not defined for a bias-reduced fit, which does not maximise the likelihood."
            )

    def _need_likelihood(self, what: str) -> None:
        if not self.loss.is_likelihood:
            raise NotDefinedForLoss(f"{what} is not defined for the canonical loss, which is not a likelihood.")

    # -- predictions -----------------------------------------------------------------------

    @property
    def fittedvalues(self) -> pd.Series:
        """Fitted probabilities of the rows in the fit, in the order of the data."""
        return self.predict()

    def predict(
        self,
        exog: Any = None,
        *,
        absorb: Any = None,
        offset: Any = None,
        which: str = "mean",
        new_units: str = "raise",
    ) -> pd.Series:
        """Predict for the rows in the fit, or for new data.

        Parameters
        ----------
        exog : table or array_like, optional
            New data; by default the rows in the fit.
        absorb : str, list of str or array_like, optional
            The units of new data; by default the columns that the fit was given.
        offset : array_like, optional
            For new data, where the fit had one that was not a column.
        which : {"mean", "linear"}
            Probabilities, or linear predictors.
        new_units : {"raise", "average"}
            What to do with units that have no constant, because they are new or were left out: refuse them, or average their probabilities over the
            constants of all units of the data (see :meth:`risks`), each as often as it has rows. Of one absorbed factor only.
        """
        for option, value, allowed in (("which", which, PREDICTIONS), ("new_units", new_units, NEW_UNITS)):
            if value not in allowed:
                raise unknown_option(option, value, allowed)
        fit, model = self._fit, self.model
        if exog is None:
            order = np.argsort(fit.panel.positions, kind="stable")
            linear, index = fit.within.linear[order], None
            index = None if fit.panel.design.index is None else fit.panel.design.index[order]
            return pd.Series(linear if which == "linear" else self.link.at(linear).cdf, index=index, name=which)
        by_formula = model.layout.recipe is not None and not isinstance(exog, np.ndarray)
        rows = (read_table if by_formula else read_matrix)(model.layout, exog, offset)
        linear = np.asarray(rows.X)[:, model.columns] @ np.asarray(self.params)
        linear += 0.0 if rows.offset is None else rows.offset
        constants, unknown = self._constants_of(exog, absorb, len(linear))
        if unknown.any():
            self._refuse_unknown(unknown, which, new_units)
        found = linear + constants if which == "linear" else self.link.at(linear + constants).cdf
        if unknown.any():
            found[unknown] = self._all_units.averaged(linear[unknown])
        return pd.Series(found, index=rows.index, name=which)

    def _constants_of(self, exog: Any, absorb: Any, n: int) -> tuple[NDArray, NDArray]:
        """Return the sum of the constants of each row, and which rows have a level without one."""
        frame = as_frame(exog) if not isinstance(exog, np.ndarray) else None
        given = self.model.absorb_names if absorb is None else absorb
        if given is None:
            raise InvalidOptionError("predict() for new data needs absorb=, the units of its rows.")
        table = columns_given(given, frame, "absorb", [n])
        if len(table) != n or table.shape[1] != len(self.absorbed):
            raise InvalidDataError(
                f"absorb has {len(table)} rows and {table.shape[1]} columns, for {n} rows and {len(self.absorbed)} absorbed factors."
            )
        effects = self._estimates_of_constants
        constants, unknown = np.zeros(n), np.zeros(n, dtype=bool)
        for j, name in enumerate(self.absorbed):
            column = table[name] if name in table.columns else table.iloc[:, j]
            places = effects[j].index.get_indexer(pd.Index(column))
            unknown |= places < 0
            constants += np.where(places < 0, 0.0, effects[j].to_numpy()[places])
        return constants, unknown

    def _refuse_unknown(self, unknown: NDArray, which: str, new_units: str) -> None:
        if new_units == "average" and which == "mean" and len(self.absorbed) == 1:
            return
        units = listed(self.absorbed)
        what = (
            ""
            if len(self.absorbed) > 1
            else "; new_units='average' averages their probabilities over the units of the data"
        )
        if new_units == "average":
            what = "; only probabilities, of one absorbed factor, can be averaged over units"
        n = int(unknown.sum())
        rows = "1 row has a level" if n == 1 else f"{n} rows have levels"
        raise InvalidDataError(
            f"{rows} of {units} without a constant, because {'it is' if n == 1 else 'they are'} new or had one outcome only{what}."
        )

    # -- risks and effects -----------------------------------------------------------------

    @cached_property
    def _all_units(self) -> AllUnits:
        return of_all_units(self._fit, self.model, slopes_by(self._fit, "fit"))

    def risks(self, *, slopes: str = "fit") -> pd.Series:
        """Risks of all rows of the data, those of units with one outcome only included, that average to the share of events.

        The constants of all units are estimated by Firth's method given the slopes, and moved by one common shift.

        Parameters
        ----------
        slopes : {"fit", "conditional"}
            The slopes of the fit; or those of the conditional likelihood with Firth's penalty, as ``strata=`` has them with ``bias="firth"``: for a logit
            with few rows per unit.
        """
        _check_slopes(slopes)
        fit, model = self._fit, self.model
        units = self._all_units if slopes == "fit" else of_all_units(fit, model, slopes_by(fit, slopes))
        index = self.model.design.index
        return pd.Series(units.risks, index=index, name="risk")

    def marginal_effects(
        self, *, slopes: str = "fit", replications: int = 200, rng: Any = 0, alpha: float = 0.05
    ) -> pd.DataFrame:
        """Average marginal effects of the columns on the risk, over all rows, with errors from a bootstrap of whole units.

        After maximum likelihood by its own constants (units with one outcome only have none, and count with zero); after bias reduction, and with
        ``slopes="conditional"``, by the steps of :meth:`risks`.

        Parameters
        ----------
        slopes : {"fit", "conditional"}
            See :meth:`risks`.
        replications : int
            Resamples of units, each with a fit of its own; 0 for no errors.
        rng : int or Generator
        alpha : float
            One minus the coverage of the intervals, by percentiles.
        """
        check_alpha(alpha)
        _check_slopes(slopes)
        names = [self.model.names[j] for j in self._kept]
        effects = marginal_effects(self._fit, self.model, slopes)
        table = pd.DataFrame({"dy/dx": effects}, index=names)
        if replications:
            draws = bootstrapped(self._fit, self.model, slopes, replications, np.random.default_rng(rng))
            table["std_err"] = draws.std(axis=0, ddof=1)
            table["ci_lower"], table["ci_upper"] = np.quantile(draws, [alpha / 2, 1 - alpha / 2], axis=0)
        return table

    @property
    def events_per_unit(self) -> float:
        """Observations of the rarer outcome per unit in the fit."""
        return events_and_risk(self._fit)[0]

    @property
    def mean_risk_over_share(self) -> float:
        """The mean fitted risk over the share of events, in the rows of the fit."""
        return events_and_risk(self._fit)[1]

    # -- the summary -----------------------------------------------------------------------

    def __repr__(self) -> str:
        units = f"{self.n_units:,} levels of {self.absorbed[0]}"
        return f"<PanelResults: {self.model.design.outcome}, {self.n_events:,g} events in {units}>"

    def _facts(self) -> dict[str, str]:
        return facts_of(self)

    def _notes_on_groups(self) -> list[str]:
        return notes_on_units(self)


def _check_slopes(word: str) -> None:
    if word not in SLOPES:
        raise unknown_option("slopes", word, SLOPES)


class PanelResultsWrapper(WithinGroupsWrapper):
    """Results with the names of the slopes attached."""


wrap.populate_wrapper(PanelResultsWrapper, PanelResults)
