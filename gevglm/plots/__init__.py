"""Pictures: numbers come in ready-made, Axes go out."""

from gevglm.plots.axes import COLORS, new_axes
from gevglm.plots.coefficients import plot_coefficients
from gevglm.plots.discrimination import plot_decision, plot_precision_recall, plot_risk_spread, plot_roc
from gevglm.plots.forest import plot_forest
from gevglm.plots.influence import plot_cooks_distance, plot_dfbetas
from gevglm.plots.likelihood import plot_profile, plot_shape
from gevglm.plots.link import plot_link
from gevglm.plots.model_choice import plot_links, plot_path, plot_search, plot_weights
from gevglm.plots.monitor import plot_monitor
from gevglm.plots.nomogram import plot_nomogram
from gevglm.plots.risk import RiskCurve, plot_effect, plot_risk_curves
from gevglm.plots.scan import plot_quantiles, plot_scan
from gevglm.plots.stability import plot_instability

__all__ = ["COLORS", "RiskCurve", "new_axes", "plot_coefficients", "plot_cooks_distance", "plot_decision", "plot_dfbetas",
           "plot_effect", "plot_forest", "plot_instability", "plot_link", "plot_links", "plot_monitor", "plot_nomogram", "plot_path", "plot_precision_recall",
           "plot_profile", "plot_quantiles",
           "plot_risk_curves", "plot_risk_spread", "plot_roc", "plot_scan", "plot_search", "plot_shape", "plot_weights"]  # fmt: skip
