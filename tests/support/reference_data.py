"""The data behind the reference numbers, as arrays, and the comparisons made with them."""

import warnings

import numpy as np
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import FewEventsWarning, SupportWarning


def arrays(reference, name):
    """Outcome (0/1, or successes and failures) and design matrix of a reference set."""
    table = reference(f"design_{name}.csv")
    if "trials" not in table:
        return table.pop("y").to_numpy(), table.to_numpy(float)
    counts = np.column_stack([table["successes"], table["trials"] - table["successes"]])
    return counts, table.drop(columns=["successes", "trials"]).to_numpy(float)


def quiet_fit(y, X, **options):
    """Fit data known to have few events, or rows outside the support."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        warnings.simplefilter("ignore", SupportWarning)
        return gevglm.fit(y, X, **options)


def named(numbers):
    """The values of a named R vector."""
    return np.array(list(numbers.values()))


def same_matrix(actual, expected, rtol):
    """Equality of covariance matrices, each entry relative to the standard errors of its row and column."""
    expected = np.asarray(expected)
    scale = np.sqrt(np.diagonal(expected))
    assert_allclose(actual / np.outer(scale, scale), expected / np.outer(scale, scale), rtol=0, atol=rtol)


def same_head(actual, expected, rtol):
    """Equality of the first rows; long vectors of the reference are trimmed."""
    assert len(expected) in (20, len(actual))
    assert_allclose(actual[: len(expected)], expected, rtol=rtol)
