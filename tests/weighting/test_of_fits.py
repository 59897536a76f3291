"""Class weights found with fit() as the learner: the same as AdaClassWeight's, wherever the rows are."""

import numpy as np
import pandas as pd
import pytest

from gevglm.exceptions import GevglmError
from gevglm.sklearn import BinaryGLMClassifier
from gevglm.weighting import AdaClassWeight, adapt_class_weight


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 2))
    event = rng.random(2000) < 1.0 / (1.0 + np.exp(3.5 - 1.5 * x[:, 0] + x[:, 1]))
    return pd.DataFrame(x, columns=["a", "b"]).assign(event=event.astype(int))


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("tradeoff", [1.0, 3.0])
def test_the_weights_are_those_of_the_estimator(table, link, tradeoff):
    found = adapt_class_weight("event ~ a + b", table, link=link, tradeoff=tradeoff)
    peer = AdaClassWeight(BinaryGLMClassifier(link=link), tradeoff=tradeoff).fit(table[["a", "b"]], table["event"])
    assert found.stop_reason == peer.stop_reason_
    np.testing.assert_allclose(list(found.class_weight.values()), [peer.class_weight_[k] for k in (0, 1)], rtol=1e-9)
    np.testing.assert_allclose(found.history, peer.history_[found.history.columns], rtol=1e-9)
    said = np.asarray(found.results.predict(table)) > found.threshold
    assert (said == peer.predict(table[["a", "b"]])).all()


def dask_table(table):
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3)


@pytest.mark.parametrize("pieces", [lambda t: [t[:700], t[700:]], lambda t: lambda: iter([t]), dask_table])
def test_data_in_pieces_are_treated_as_a_table_is(table, pieces):
    whole, parts = (adapt_class_weight("event ~ a + b", data) for data in (table, pieces(table)))
    assert parts.stop_reason == whole.stop_reason
    np.testing.assert_allclose(parts.history, whole.history, rtol=1e-9)


def test_a_frequency_is_so_many_rows(table):
    counted = table[:600].assign(n=1 + np.arange(600) % 3)
    repeated = counted.loc[counted.index.repeat(counted["n"])]
    by_count = adapt_class_weight("event ~ a + b", counted, freq_weights="n")
    by_row = adapt_class_weight("event ~ a + b", repeated)
    np.testing.assert_allclose(by_count.history, by_row.history, rtol=1e-9)


def test_the_rare_class_may_be_the_one_that_is_no_event(table):
    straight = adapt_class_weight("event ~ a + b", table)
    turned = adapt_class_weight("event ~ a + b", table.assign(event=1 - table["event"]))
    np.testing.assert_allclose(turned.history, straight.history, rtol=1e-8)
    np.testing.assert_allclose(turned.threshold, 1.0 - straight.threshold, rtol=1e-8)


def test_the_last_round_is_the_one_that_is_returned(table):
    found = adapt_class_weight("event ~ a + b", table, rounds=2)
    assert found.stop_reason == "rounds" and len(found.history) == 2
    assert found.class_weight[1] == found.history["weight_rare"].iloc[-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"formula": np.zeros(3)}, "takes a formula"),
        ({"class_weight": "balanced"}, "class_weight="),
        ({"prevalence": 0.01}, "prevalence="),
        ({"formula": "event ~ a | b"}, "after |"),
        ({"rounds": 0}, "rounds"),
        ({"tradeoff": -1.0}, "tradeoff"),
        ({"formula": "event ~ c"}, "c"),
    ],
)
def test_bad_input(table, change, words):
    with pytest.raises(GevglmError, match=words):
        adapt_class_weight(**{"formula": "event ~ a", "data": table} | change)


def test_one_class(table):
    with pytest.raises(GevglmError, match="event"):
        adapt_class_weight("event ~ a", table.assign(event=0))
