"""Links and their points seen in the mirror: the distribution :math:`1 - F(-v)`, written as nothing else."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.links.base import BinaryLink, JointDerivatives, Point


class MirroredPoint(Point):
    """The point of the mirrored distribution :math:`1 - F(-v)`, read off the point of F at -v."""

    def __init__(self, point: Point):
        self.point = point

    @cached_property
    def v(self) -> NDArray:
        return -self.point.v

    @property
    def cdf(self) -> NDArray:
        return self.point.sf

    @property
    def sf(self) -> NDArray:
        return self.point.cdf

    @property
    def pdf(self) -> NDArray:
        return self.point.pdf

    @cached_property
    def dlogpdf(self) -> NDArray:
        return -self.point.dlogpdf

    @property
    def d2logpdf(self) -> NDArray:
        return self.point.d2logpdf

    @property
    def log_cdf(self) -> NDArray:
        return self.point.log_sf

    @property
    def log_sf(self) -> NDArray:
        return self.point.log_cdf

    @property
    def reverse_hazard(self) -> NDArray:
        return self.point.hazard

    @property
    def hazard(self) -> NDArray:
        return self.point.reverse_hazard

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return -self.point.dlog_hazard

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return -self.point.dlog_reverse_hazard

    @cached_property
    def continued(self) -> Point:
        inner = self.point.continued
        return self if inner is self.point else MirroredPoint(inner)

    @cached_property
    def dcdf_dshape(self) -> NDArray:
        return -self.point.dcdf_dshape

    def joint_derivatives(self, y: NDArray) -> JointDerivatives | None:
        found = self.point.joint_derivatives(1.0 - y)
        return None if found is None else found._replace(slope=-found.slope, mixed=-found.mixed)


class MirroredLink(BinaryLink):
    """The link of the mirrored distribution of another, which a subclass puts into ``mirrors``."""

    mirrors: BinaryLink

    @property
    def support(self) -> tuple[float, float]:
        lower, upper = self.mirrors.support
        return (-upper, -lower)

    @property
    def log_concave(self) -> bool:
        return self.mirrors.log_concave

    @property
    def edge(self) -> str:
        return self.mirrors.edge

    @property
    def relative_integrals(self) -> tuple[bool, bool]:
        of_cdf, of_sf = self.mirrors.relative_integrals
        return (of_sf, of_cdf)

    def at(self, v: NDArray) -> MirroredPoint:
        return MirroredPoint(self.mirrors.at(-v))

    def integral_cdf(self, v: NDArray) -> NDArray:
        return self.mirrors.integral_sf(-np.asarray(v, dtype=float))

    def integral_sf(self, v: NDArray) -> NDArray:
        return self.mirrors.integral_cdf(-np.asarray(v, dtype=float))

    def continued_integral_cdf(self, v: NDArray) -> NDArray:
        return self.mirrors.continued_integral_sf(-np.asarray(v, dtype=float))

    def continued_integral_sf(self, v: NDArray) -> NDArray:
        return self.mirrors.continued_integral_cdf(-np.asarray(v, dtype=float))
