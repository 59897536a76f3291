"""A link with a shape of its own, as a user would write it: Student's t ("gosset"), its degrees of freedom the shape."""

from functools import cached_property

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from gevglm.exceptions import InvalidOptionError
from gevglm.links import BinaryLink, Point

STEP = 1e-4  # relative, of the differences by the degrees of freedom


class StudentTPoint(Point):
    def __init__(self, df, v):
        self.df, self.v = df, v

    @cached_property
    def cdf(self):
        return stdtr(self.df, self.v)

    @cached_property
    def sf(self):
        return stdtr(self.df, -self.v)

    @cached_property
    def pdf(self):
        df = self.df
        constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        return np.exp(constant - 0.5 * (df + 1.0) * np.log1p(self.v**2 / df))

    @cached_property
    def dlogpdf(self):
        return -(self.df + 1.0) * self.v / (self.df + self.v**2)

    @cached_property
    def d2logpdf(self):
        return (self.df + 1.0) * (self.v**2 - self.df) / (self.df + self.v**2) ** 2

    @cached_property
    def dcdf_dshape(self):
        step = STEP * self.df
        return (stdtr(self.df + step, self.v) - stdtr(self.df - step, self.v)) / (2.0 * step)


class StudentT(BinaryLink):
    """Student's t link; df = 1 is the cauchit, large df the probit."""

    word = "gosset"
    shape_name = "df"
    default_grid = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 40.0)
    log_concave = False

    def __init__(self, df):
        if not 0.0 < df < 1e6:
            raise InvalidOptionError(f"df={df!r} must be a positive number.")
        self.df = float(df)

    @property
    def relative_integrals(self):
        return (self.df <= 1.0,) * 2

    def at(self, v):
        return StudentTPoint(self.df, v)

    def at_probability(self, p):
        return StudentTPoint(self.df, stdtrit(self.df, p))

    def integral_cdf(self, v):
        v = np.asarray(v, dtype=float)
        point = StudentTPoint(self.df, v)
        return v * point.cdf + (self.df + v**2) / (self.df - 1.0) * point.pdf

    def integral_sf(self, v):
        return self.integral_cdf(-np.asarray(v, dtype=float))
