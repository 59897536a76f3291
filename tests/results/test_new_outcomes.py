"""Outcomes and predictions of new data: any coding of the outcome in pieces as in memory, missing where a row is incomplete."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidDataError

STUDY = gevglm.datasets.simulate_study(n=2000, rng=4)
CODES = {
    "1 and 2": (2, 1),
    "-1 and 1": (-1, 1),
    "0 and 1": (0, 1),
    "words": ("no", "yes"),
    "0.5 and 1.5": (0.5, 1.5),
    "truth": (False, True),
}


def pieces(data):
    ordered = data.sort_values("event", kind="stable")  # the first piece has one level only
    return [ordered.iloc[:700], ordered.iloc[700:]]


@pytest.mark.parametrize("code", CODES)
def test_calibration_reads_any_outcome_in_pieces(code):
    other, event = CODES[code]
    data = STUDY.assign(event=np.where(STUDY["event"] == 1, event, other))
    expected = gevglm.fit("event ~ age", STUDY, link="logit").calibration(STUDY).summary_frame()
    for given in (data, pieces(data)):
        results = gevglm.fit("event ~ age", given, link="logit", event=event)
        assert_allclose(
            results.calibration(pieces(data)).summary_frame().iloc[:, 0], expected.iloc[:, 0], rtol=1e-5, atol=1e-9
        )


def test_a_third_level_of_new_outcomes_is_refused_in_pieces():
    data = STUDY.assign(event=STUDY["event"] + 1)
    results = gevglm.fit("event ~ age", data, link="logit", event=2)
    data.loc[:5, "event"] = 7
    with pytest.raises(InvalidDataError, match="has 3 levels"):
        results.calibration(pieces(data))


@pytest.mark.parametrize("method", ["logistic", "isotonic", "beta"])
def test_recalibrated_predictions_are_missing_in_incomplete_rows(method):
    results = gevglm.fit("event ~ age", STUDY, link="logit")
    corrected = results.recalibrate(STUDY, method=method)
    new = STUDY.head(4).assign(age=[np.nan, 1.0, 5.0, np.nan])
    predicted = corrected.predict(new)
    assert predicted.isna().tolist() == [True, False, False, True] == results.predict(new).isna().tolist()
    assert_allclose(predicted.iloc[1:3], corrected.predict(new.iloc[1:3]))
    assert pd.isna(corrected.predict(new.iloc[[0]])).all()


@pytest.mark.parametrize(("event", "hint"), [("1", "event=1"), ("0", "event=0")])
def test_the_event_is_suggested_in_the_type_of_the_levels(event, hint):
    for data in (STUDY, pieces(STUDY)):
        with pytest.raises(InvalidDataError, match=rf"not a level of 'event' .* Did you mean {hint}\?"):
            gevglm.fit("event ~ age", data, link="logit", event=event)
