"""The scoring formula in other languages, run there: the same risks as predict, and none where there is none."""

import json
import math
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.export import scoring_formula
from gevglm.export.javascript import to_javascript
from gevglm.export.spreadsheet import to_cell
from gevglm.export.sql import to_sql
from gevglm.links import (
    GEV,
    Cauchit,
    CLogLog,
    GEVc,
    Identity,
    Log,
    LogC,
    Logit,
    LogLog,
    Probit,
    Sampled,
)  # fmt: skip
from gevglm.links.odds import ScaledOdds
from tests.support.cells import evaluated
from tests.support.golden import numbers
from tests.support.javascript import plain, run
from tests.support.student_t import StudentT

LINKS = [Logit(), Probit(), Cauchit(), CLogLog(), LogLog(), GEV(0.3), GEV(-0.4), GEV(-1.0), GEV(2e-4), GEV(-2e-4), GEVc(0.2), GEVc(-0.3),
         GEVc(1.2), Log(), LogC(), Identity(), ScaledOdds(Probit(), 3.0), Sampled(GEV(0.5), 0.01, 0.4)]  # fmt: skip
FORMULAS = {
    "factors": "y ~ grade*sex + smoker + C(ward) + C(ward, Sum):sex",
    "splines": "y ~ bs(age, df=4) + ns(bmi, 3):sex + rcs(bmi, 4)",
    "more splines": "y ~ cr(age, df=4) + poly(bmi, 3) + bs(bmi, df=5, degree=2, extrapolation='clip'):smoker",
    "arithmetic": "y ~ log(dose) + I(age / dose**2) + sqrt(dose) + np.exp(-dose) + I(age > 50) + I(np.maximum(age - 40, 0)) + offset(0.01 * dose)",
    "scaled": "y ~ scale(age) * center(bmi) + standardize(dose) + scale(log(dose)) + cut(age, [0, 40, 60, np.inf])",
    "conditions": "y ~ I((age > 40) & (grade == 'low')) + I(grade != 'high'):age + age:bmi + dose % 3",
}


@pytest.fixture(scope="module")
def data():
    return made()


def made():
    rng, n = np.random.default_rng(5), 300
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20.0, 80.0, n),
            "bmi": rng.normal(27.0, 4.0, n),
            "dose": rng.integers(1, 9, n),
            "grade": rng.choice(["low", "mid", "high", "o'x"], n),
            "sex": rng.choice(["m", "f"], n),
            "smoker": rng.random(n) < 0.3,
            "ward": rng.integers(0, 3, n),
        }
    )
    return frame.assign(y=(rng.random(n) < 0.3).astype(int))


def in_duckdb(query, frame):
    with duckdb.connect() as connection:
        connection.register("rows of today", frame)
        return connection.execute(query).df()["risk"].to_numpy(float)


def in_sqlite(query, frame):
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("rows of today", connection, index=False)
        found = pd.read_sql(query, connection)["risk"].to_numpy(float)
    connection.close()
    return found


def in_node(source, frame):
    rows = json.dumps([plain(row) for row in frame.to_dict("records")])
    return np.array(run(source, f"{rows}.map(risk)"), dtype=float)


def in_cells(formula, frame):
    cells = {f"{chr(65 + j)}2": name for j, name in enumerate(frame)}
    rows = map(plain, frame.to_dict("records"))
    return np.array([evaluated(formula, {cell: row[name] for cell, name in cells.items()}) for row in rows])


def every_way(formula, frame):
    """Return the risks of rows by each way out of Python."""
    table = frame[[each.column.name for each in formula.inputs]]
    yield in_duckdb(to_sql(formula, "rows of today", "duckdb"), table)
    yield in_sqlite(to_sql(formula, "rows of today", "sqlite"), table)
    yield in_cells(to_cell(formula, None), table)
    yield in_node(to_javascript(formula), table)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_every_link_has_its_risks_everywhere(link):
    low, high = (-9.0, 9.0) if not isinstance(link, Log) else (-9.0, -1e-9)
    frame = pd.DataFrame({"x": np.linspace(low, high, 61), "y": np.arange(61) % 2})
    res = gevglm.fit("y ~ x", frame)
    formula = scoring_formula(res.model.design.layout, np.array([0.1, 0.9]), link)
    for found in every_way(formula, frame):
        assert_allclose(found, link.inverse(0.1 + 0.9 * frame["x"].to_numpy()), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_kind_of_term_has_its_risks_everywhere(name, data):
    res = gevglm.fit(FORMULAS[name], data, alpha=0.1)
    expected = np.asarray(res.predict(data))
    for found in every_way(res.scoring_formula, data):
        assert_allclose(found, expected, rtol=0, atol=1e-13)
    columns = [column for term in json.loads(res.to_json())["terms"] for column in term["columns"]]
    assert len(columns) == len(res.params)


def test_risks_are_those_of_the_population(data):
    res = gevglm.fit("y ~ age", data, link="probit", prevalence=0.01)
    for found in every_way(res.scoring_formula, data):
        assert_allclose(found, np.asarray(res.predict(data)), rtol=0, atol=1e-13)


def test_columns_of_offset_and_exposure_are_named(data):
    frame = data.assign(years=1.0 + data["dose"])
    res = gevglm.fit("y ~ age", frame, link="cloglog", exposure="years", offset="dose")
    for found in every_way(res.scoring_formula, frame):
        assert_allclose(found, np.asarray(res.predict(frame)), rtol=0, atol=1e-13)
    with pytest.raises(InvalidDataError, match="offset='column'"):
        gevglm.fit("y ~ age", frame, offset=np.ones(len(frame))).to_sql("t")


def test_a_design_matrix_has_its_columns(data):
    X = data[["age", "bmi"]].assign(const=1.0)
    res = gevglm.BinaryGLM(data["y"], X).fit()
    for found in every_way(res.scoring_formula, X):
        assert_allclose(found, np.asarray(res.predict(X)), rtol=0, atol=1e-13)


def test_rows_that_the_model_does_not_know_have_no_risk(data):
    res = gevglm.fit("y ~ grade + age + smoker + bs(bmi, df=4)", data, alpha=0.1)
    rows = data.head(5).astype({"smoker": object, "age": object})
    rows.loc[0, "grade"], rows.loc[1, "grade"], rows.loc[2, "age"], rows.loc[3, "bmi"] = "none", None, None, 99.0
    rows = rows.astype({"smoker": bool, "age": float})
    for found in every_way(res.scoring_formula, rows):
        assert np.isnan(found[:4]).all()
        assert_allclose(found[4], res.predict(rows.tail(1)).iloc[0], atol=1e-13)


def test_texts_in_a_column_of_numbers_have_no_risk_in_sqlite(data):
    res = gevglm.fit("y ~ age", data)
    rows = pd.DataFrame({"age": ["old", 50.0]}, dtype=object)
    assert np.isnan(in_sqlite(res.to_sql("rows of today", dialect="sqlite"), rows)[0])


def test_the_column_added_has_the_name_given(data):
    query = gevglm.fit("y ~ age", data).to_sql("data", name="death within a year")
    found = duckdb.sql(query).columns
    assert found == [*data.columns, "death within a year"]


def twice(x):
    return 2.0 * x


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("y ~ twice(age)", r"'twice\(age\)' .* twice\(\) is a Python function; compute a column"),
        ("y ~ age.clip(30, 60)", r"age.clip\(\) is a Python function"),
        ("y ~ cc(age, df=4)", r"cc\(\) is not among"),
    ],
)
def test_terms_that_cannot_be_exported_are_named(formula, named, data):
    res = gevglm.fit(formula, data, alpha=0.1)
    with pytest.raises(InvalidDataError, match=named):
        res.to_sql("t")


def test_what_else_cannot_be_exported_is_said(data):
    res = gevglm.fit("y ~ age", data)
    with pytest.raises(InvalidOptionError, match="dialect"):
        res.to_sql("t", dialect="oracle")
    with pytest.raises(InvalidOptionError, match="no cell for age"):
        res.to_excel_formula({"bmi": "A1"})
    with pytest.raises(InvalidDataError, match="formulaic"):
        gevglm.fit("y ~ age", data, formula_engine="patsy").to_json()
    with pytest.raises(InvalidOptionError, match="not one of gevglm's own"):
        gevglm.fit("y ~ age", data, link=StudentT(4.0)).to_json()
    apart = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20) > 9})
    with pytest.warns(gevglm.exceptions.SeparationWarning):
        res = gevglm.fit("y ~ x", apart)
    with pytest.raises(InvalidDataError, match="bias='firth'"):
        res.to_sql("t")
    long = gevglm.fit("y ~ C(k)", pd.DataFrame({"k": np.arange(900) % 300, "y": np.arange(900) % 2}), alpha=1.0)
    with pytest.raises(InvalidDataError, match="8192"):
        long.to_excel_formula()


def test_cells_are_evaluated_as_libreoffice_does():
    golden = numbers("spreadsheet")
    for formula, rows in golden["formulas"]:
        for cells, expected in rows:
            found = evaluated(formula, cells)
            assert math.isnan(found) if expected is None else abs(found - expected) < 1e-14


def test_the_formula_of_a_cell_can_be_read(data):
    res = gevglm.fit("y ~ age + sex", data)
    text = res.to_excel_formula({"age": "B7", "sex": "C7"})
    assert text.startswith("=IF(AND(") and "B7" in text and 'EXACT(C7,"m")' in text
