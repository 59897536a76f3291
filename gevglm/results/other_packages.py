"""What other packages ask results for: tables by maketables, whose attributes begin and end with two underscores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gevglm.exceptions import GevglmError
from gevglm.results.core import ResultsCore

MAKETABLES_STATS = {  # from the words of maketables to attributes of results
    "N": "n_trials_total",
    "n_events": "n_events",
    "ll": "llf",
    "ll_null": "llnull",
    "aic": "aic",
    "bic": "bic",
    "pseudo_r2": "prsquared",
    "df_model": "df_model",
    "df_resid": "df_resid",
    "auc": "auc",
    "brier": "brier",
    "log_loss": "log_loss",
}
LABELS = {"n_events": "Events", "auc": "AUC", "brier": "Brier score", "log_loss": "Log loss"}


class OtherPackages(ResultsCore):
    """What other packages ask for; a part of :class:`gevglm.BinaryGLMResults`."""

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        results: Any = self
        statistics, pvalues = results.tests()
        limits = np.asarray(results.conf_int())
        columns = {"b": results.estimates, "se": results.bse, "t": statistics, "p": pvalues}
        columns |= {"ci95l": limits[:, 0], "ci95u": limits[:, 1]}
        table = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
        return pd.DataFrame(table, index=pd.Index(self.model.exog_names, name="Coefficient"))

    def __maketables_stat__(self, key: str) -> Any:
        if key == "se_type":
            return self.cov_type
        if key not in MAKETABLES_STATS:
            return None
        try:
            value = getattr(self, MAKETABLES_STATS[key])
        except GevglmError:  # not defined for the fit
            return None
        return int(value) if key in ("N", "n_events") and float(value).is_integer() else float(value)

    @property
    def __maketables_depvar__(self) -> str:
        return str(self.model.design.outcome)

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        groups = self.cluster_groups
        return {"vcov_type": self.cov_type, "clustervar": groups if isinstance(groups, str) else None}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return dict(LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N", "n_events", "ll" if self.loss.is_likelihood else "log_loss"]
