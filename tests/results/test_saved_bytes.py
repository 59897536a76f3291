"""What is in the file of a saved model: no row, label, residual or variable of the caller, however it was fitted and whatever was called before."""

import io
import pickle
import types
import warnings

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.results.calibration import Recalibrated

N = 131  # rows, a length that nothing else has
FORMULA = "y ~ age + smoker"


def make_patients():
    """Columns whose values are recognisable in any file, and patient numbers of eight digits as labels."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": rng.normal(50.0, 9.0, N),
            "smoker": rng.integers(0, 2, N),
            "copies": rng.integers(1, 4, N),
            "importance": rng.uniform(0.5, 2.0, N),
            "shift": rng.normal(0.0, 0.1, N),
            "clinic": 71_000_003 + 7_919 * rng.integers(0, 20, N),
        },
        index=pd.Index(81_234_567 + 7_919 * np.arange(N), name="patient"),
    )
    linear = -1.0 + 0.02 * (table["age"] - 50.0) + 0.8 * table["smoker"]
    return table.assign(y=(rng.random(N) < 1.0 / (1.0 + np.exp(-linear))).astype(int))


PATIENTS = make_patients()
ODD = np.arange(N) % 2 == 1
HALVES = [(ODD, ~ODD), (~ODD, ODD)]
EXOG = PATIENTS[["age", "smoker"]].assign(const=1.0)
FITS = {
    "memory": {"link": "logit"},
    "canonical": {"xi": 0.3},
    "freq_weights": {"link": "logit", "freq_weights": "copies"},
    "weights and offset as arrays": {"xi": 0.3, "var_weights": PATIENTS["importance"], "offset": PATIENTS["shift"]},
    "clusters": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}},
    "clusters as an array": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": PATIENTS["clinic"]}},
    "subset": {"link": "logit", "subset": PATIENTS.index[:-1].to_numpy()},
    "shape by likelihood": {"link": "gev", "loss": "log", "xi": "ml", "search_kwds": {"grid": [-0.5, 0.0, 0.5]}},
    "shape by folds": {"xi": "cv", "search_kwds": {"grid": [0.0, 0.5], "folds": HALVES}},
    "firth": {"link": "logit", "bias": "firth"},
    "prevalence": {"link": "cloglog", "prevalence": (0.01, 0.03)},
    "class weights": {"link": "logit", "class_weight": "balanced"},
}  # fmt: skip


def fitted(name):
    age = PATIENTS["age"].to_numpy()  # a variable named like a column: not the model's business  # noqa: F841
    if name == "pieces":
        return gevglm.fit(FORMULA, [PATIENTS.iloc[:60], PATIENTS.iloc[60:]], link="logit")
    if name == "pieces with clusters":
        options = {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}, "xi": 0.3, "freq_weights": "copies"}
        return gevglm.fit(FORMULA, [PATIENTS.iloc[:60], PATIENTS.iloc[60:]], **options)
    if name == "arrays":
        return gevglm.fit(PATIENTS["y"], EXOG, link="logit")
    if name == "constrained":
        return gevglm.BinaryGLM.from_formula(FORMULA, PATIENTS, link="logit").fit_constrained("smoker = 0.5")
    if name == "variable of the caller":
        extra = PATIENTS["shift"].to_numpy()  # noqa: F841
        return gevglm.fit("y ~ age + smoker + extra", PATIENTS, link="logit")
    if name == "recalibrated":
        return gevglm.fit(FORMULA, PATIENTS, link="logit").recalibrate(method="logistic")
    return gevglm.fit(FORMULA, PATIENTS, **FITS[name])


OTHERS = ["pieces", "pieces with clusters", "arrays", "constrained", "variable of the caller", "recalibrated"]
NOT_CALLED = {"save", "load", "remove_data", "report", "initialize"}


def call_everything(results):
    """Ask for every public attribute, and call what can be called without arguments, but for pictures."""
    kind = type(getattr(results, "_results", results))
    for name in sorted(set(dir(kind)) - NOT_CALLED):
        if name.startswith(("_", "plot")):
            continue
        try:
            value = getattr(results, name)
            _ = value() if callable(value) else value
        except Exception:  # not defined for this fit, or needs arguments
            continue
    for ask in (lambda: results.risk("smoker"), lambda: results.get_prediction().summary_frame()):
        try:
            ask()
        except Exception:
            continue


def of_length(content, lengths):
    """Yield the places of everything in an object that has the length of the data."""
    seen, queue = {}, [("", content)]
    while queue:
        place, value = queue.pop()
        if id(value) in seen or isinstance(value, (types.ModuleType, types.FunctionType, type)):
            continue
        seen[id(value)] = value
        shape = value.shape if isinstance(value, (np.ndarray, pd.Series, pd.DataFrame, pd.Index)) else ()
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            shape = (len(value),)
        if set(shape) & lengths:
            yield place, type(value).__name__, shape
        if isinstance(value, dict):
            queue += [(f"{place}[{key!r}]", inner) for key, inner in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            queue += [(f"{place}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, np.ndarray):
            queue += [(f"{place}[{i}]", inner) for i, inner in enumerate(value.flat)] if value.dtype == object else []
        else:
            queue += [(f"{place}.{key}", inner) for key, inner in getattr(value, "__dict__", {}).items()]


def values_in(content):
    """Return the values of the data that bytes contain: labels, clusters, and numbers of the columns."""
    numbers = pd.concat([PATIENTS[name] for name in ("age", "importance", "shift")])
    floats = [
        value
        for value in numbers
        if np.float64(value).tobytes() in content or np.array(value, ">f8").tobytes() in content
    ]
    labels = [*PATIENTS.index, *PATIENTS["clinic"].unique()]
    return floats + [one for one in labels if int(one).to_bytes(4, "little") in content or str(one).encode() in content]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*FITS, *OTHERS])
def test_a_saved_model_holds_nothing_of_the_data(name):
    results = fitted(name)
    for asked in (False, True):
        if asked:
            call_everything(results)
        file = io.BytesIO()
        results.save(file)
        assert values_in(file.getvalue()) == []
        loaded = pickle.loads(file.getvalue())
        assert list(of_length(loaded, {N, N - 1, 60, N - 60})) == []
    assert len(file.getvalue()) < 12_000


def test_what_is_looked_for_would_be_found():
    results = gevglm.fit(FORMULA, PATIENTS, link="logit")
    whole = pickle.dumps(results)
    assert len(values_in(whole)) > 2 * N
    assert len(list(of_length(results, {N}))) >= 10


def test_a_variable_of_the_caller_with_a_value_for_each_row_is_a_column_of_new_data(tmp_path):
    results = fitted("variable of the caller")
    results.save(tmp_path / "model.pkl")
    loaded = gevglm.load(tmp_path / "model.pkl")
    with pytest.raises(gevglm.exceptions.InvalidDataError, match="the formula names 'extra', not in the data"):
        loaded.predict(PATIENTS)
    new = PATIENTS.assign(extra=PATIENTS["shift"])
    np.testing.assert_allclose(loaded.predict(new), results.predict(), rtol=1e-12)


def test_what_the_formula_names_besides_columns_is_saved(tmp_path):
    center = 50.0  # noqa: F841
    results = gevglm.fit("y ~ I(age - center)", [PATIENTS], link="logit")
    results.save(tmp_path / "model.pkl")
    np.testing.assert_array_equal(gevglm.load(tmp_path / "model.pkl").predict(PATIENTS), results.predict(PATIENTS))


@pytest.mark.parametrize("method", ["logistic", "isotonic", "beta", "piecewise"])
def test_recalibrated_fits_are_saved_with_their_calibrator(method, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = gevglm.fit(FORMULA, PATIENTS, link="logit").recalibrate(method=method)
    again.save(tmp_path / "model.pkl")
    loaded = gevglm.load(tmp_path / "model.pkl")
    assert isinstance(loaded, Recalibrated) and not loaded.results.has_data and again.results.has_data
    np.testing.assert_array_equal(loaded.predict(PATIENTS), again.predict(PATIENTS))
    assert str(loaded.summary()) == str(again.summary())
