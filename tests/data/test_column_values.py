"""Values of a column in pieces: the quantiles of the whole, whatever the pieces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.data.bases import NaturalSplines
from gevglm.data.column_values import ValueCounts

SHARES = np.linspace(0.0, 1.0, 23)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
def test_quantiles_are_those_of_numpy(seed, ties):
    rng = np.random.default_rng(seed)
    x = rng.poisson(3.0, 137).astype(float) if ties else rng.normal(size=137)
    seen = ValueCounts.joined([ValueCounts.of(part) for part in np.split(x, [1, 20, 90])])
    assert (seen.n, *seen.ends) == (137, x.min(), x.max())
    assert_allclose(seen.quantiles(SHARES), np.quantile(x, SHARES), rtol=1e-14, atol=1e-15)
    assert_array_equal(seen.nth(np.arange(137)), np.sort(x))
    inside = x[(x >= 0.5) & (x <= 2.0)]
    assert_allclose(seen.between(0.5, 2.0).quantiles(SHARES), np.quantile(inside, SHARES), rtol=1e-14, atol=1e-15)


def test_parts_are_joined_as_they_grow():
    """A column with few values stays small, however many pieces it comes in."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 30, 100).astype(float) for _ in range(200)]
    learned = NaturalSplines()
    learned.memorize_chunk(parts[0], df=3)
    for part in parts[1:]:
        other = NaturalSplines()
        other.memorize_chunk(part, df=3)
        learned.merge(vars(other))
        assert sum(len(counts.values) for counts in learned.parts) <= 60
    learned.memorize_finish()
    assert_allclose(learned.knots, np.quantile(np.concatenate(parts), [1 / 3, 2 / 3]))
    assert "parts" not in vars(learned)


@pytest.mark.parametrize(
    ("x", "message"), [([1.0, np.inf, np.nan], "not finite in 2 rows"), (np.ones((4, 2)), "not 2")]
)
def test_what_cannot_be_counted_is_refused(x, message):
    with pytest.raises(ValueError, match=message):
        ValueCounts.of(x)
