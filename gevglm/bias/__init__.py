r"""Bias reduction: small samples and rare events, for every link and both losses.

Maximum likelihood is biased away from zero by a term of order 1/n, and infinite under separation. The methods here
subtract that bias by a change of the estimating equation :math:`s(b) = 0`. With :math:`q_i = x_i' C x_i`, C the model-based
covariance of the coefficients and :math:`w_i` the weight of a row:

===============  ==========================================================================================
word             what is added to the score :math:`s(b)`
===============  ==========================================================================================
``mean``         log loss: :math:`\tfrac12 \sum h_i \frac{F''_i}{F'_i} x_i` with the leverage
                 :math:`h_i = w_i \frac{F_i'^2}{F_i(1-F_i)} q_i` (Firth 1993, Kosmidis and Firth 2009);
                 canonical loss: :math:`\tfrac12 \sum w_i F''_i q_i x_i`, because its score is linear in y
``median``       the same, plus the information times u with
                 :math:`u_j = \sum_i W_i e_i (x_i'c_j)^3 / c_{jj}` (Kenne Pagui, Salvan and Sartori 2017)
``jeffreys``     :math:`a \sum h_i (\ln W_i)' x_i`, the gradient of :math:`a \ln |I(b)|`
``logf``         :math:`m (\tfrac12 - \mathrm{expit}(b_j))`, the log-F(m, m) prior of every slope
===============  ==========================================================================================

``correction`` subtracts the estimated bias from the uncorrected estimate once, ``king-zeng`` does so for logits of samples drawn by
the outcome; ``flic`` and ``flac`` (Puhr et al. 2017)
repair the predicted risks, which ``mean`` pulls towards 1/2. Standard errors are those of the information at the
estimates, as in brglm2; logistf inverts the information of augmented data and reports smaller ones.
"""

from gevglm.bias.adjusted import Adjusted, Jeffreys, MeanReduction, MedianReduction
from gevglm.bias.base import BiasReduction
from gevglm.bias.correction import Correction, KingZeng
from gevglm.bias.flic_flac import Flac, Flic
from gevglm.bias.log_f import LogF, LogFPenalty

__all__ = [
    "Adjusted",
    "BiasReduction",
    "Correction",
    "Flac",
    "Flic",
    "Jeffreys",
    "KingZeng",
    "LogF",
    "LogFPenalty",
    "MeanReduction",
    "MedianReduction",
]
