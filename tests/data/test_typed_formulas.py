"""Formulas as people type them in R, Stata, fixest and patsy: the design of R, or a sentence that says what to write."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from gevglm import BinaryGLM
from gevglm.data.new_rows import read_table

ENGINES = ("formulaic", "patsy")
GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "formulas.json").read_text())
DATA = pd.read_csv(GOLDEN / "formulas.csv")
NEW = pd.DataFrame(R["new"])
CLOSE = 1e-10  # of the largest number of a column
DESIGNS = {each["right"]: each for each in R["designs"]}
BASES = [
    right
    for right in DESIGNS
    if right.startswith(("ns(", "bs(", "poly(", "rcs(")) and "*" not in right and ":" not in right
]


def matrix(stored):
    return np.reshape(stored["values"], stored["shape"], order="F")


def model_of(right, engine="formulaic", data=DATA, left="y"):
    return BinaryGLM.from_formula(f"{left} ~ {right}", data, link="logit", formula_engine=engine)


def assert_same_span(ours, theirs):
    assert ours.shape[1] <= theirs.shape[1]  # R leaves columns in that are combinations of others
    for X, columns in ((ours, theirs), (theirs, ours)):
        X, columns = (each / np.maximum(np.abs(each).max(axis=0), 1e-300) for each in (X, columns))
        assert_allclose(X @ np.linalg.lstsq(X, columns, rcond=1e-13)[0], columns, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", DESIGNS)
def test_designs_are_those_of_r(right, engine):
    known = DESIGNS[right]
    model = model_of(right, engine)
    assert_same_span(np.asarray(model.exog)[R["some"]], matrix(known["X"]))
    if "offset" in known:
        assert_allclose(np.asarray(model.offset)[R["some"]], known["offset"], rtol=1e-14)
    else:
        assert model.offset is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", BASES)
def test_splines_and_polynomials_have_the_columns_of_r(right, engine):
    theirs = matrix(DESIGNS[right]["X"])
    if "g" not in right:
        ours = np.asarray(model_of(right, engine).exog)[R["some"]]
        assert_allclose(ours / np.abs(theirs).max(axis=0), theirs / np.abs(theirs).max(axis=0), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", [right for right, known in DESIGNS.items() if "new" in known])
def test_new_rows_are_read_with_the_knots_of_the_fit(right, engine):
    theirs = np.vstack([matrix(DESIGNS[right]["X"]), matrix(DESIGNS[right]["new"])])
    design = model_of(right, engine).design
    ours = np.vstack([design.X[R["some"]], read_table(design.layout, NEW).X])
    assert_same_span(ours, theirs)


@pytest.mark.parametrize("right", DESIGNS)
def test_pieces_give_the_design_of_the_whole(right):
    whole = model_of(right)
    pieces = model_of(right, data=[DATA[:13], DATA[13:40], DATA[40:41], DATA[41:]]).design
    assert pieces.names == whole.exog_names
    for table in (DATA[50:60], DATA[::-1]):
        read = read_table(pieces.layout, table)
        rows = whole.design.X[table.index]
        assert_allclose(read.X, rows, rtol=0, atol=1e-12 * np.abs(rows).max())
        if whole.offset is not None:
            assert_allclose(read.offset, np.asarray(whole.offset)[table.index])


def test_few_rows_have_harrells_outer_knots():
    X = np.asarray(model_of("rcs(x, 4)", data=DATA[: R["few"]["rows"]]).exog)[:20]
    assert_allclose(X, matrix(R["few"]["X"]), rtol=0, atol=CLOSE * 100)
