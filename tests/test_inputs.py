"""What arrays and tables are accepted, and what is said of others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unsculpt.inputs import column, in_order_of, numbers, protected_columns, score_columns


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "x holds text such as 'a'; expected numbers"),
        ([1 + 2j], "x holds complex128 values"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), "x holds datetime64"),
        ([{"a": 1}], "x holds object values such as"),
        ([[1, 2], [3]], "x cannot be read as an array"),
        ([1.0, None], "x is NaN or infinite in 1 of 2 events"),
        ([1.0, 1e200], "x is NaN or infinite in 1 of 2 events"),
        ([[np.nan, np.nan], [1.0, 2.0], [3.0, np.inf]], "x is NaN or infinite in 2 of 3 events"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), "x is masked in 1 of 2 events"),
        (np.ma.array(np.ones((2, 3)), mask=[[1, 1, 0], [0, 0, 0]]), "x is masked in 1 of 2 events"),
    ],
)
def test_what_is_no_number(values, message):
    with pytest.raises(ValueError, match=message):
        numbers(values, "x")


def test_a_lazy_table_holds_no_events():
    with pytest.raises(ValueError, match="a LazyFrame holds no events yet; collect"):
        protected_columns(pl.LazyFrame({"mass": [80.0]}))


def test_no_events_are_fine():
    assert numbers([], "x").shape == (0,)
    assert score_columns([], "scores").shape == (0, 1)
    assert score_columns(np.zeros((0, 3)), "scores").shape == (0, 3)


def test_a_column_has_one_number_an_event():
    with pytest.raises(ValueError, match=r"x has shape \(2, 1\); expected one column \(n,\)"):
        column([[1.0], [2.0]], "x")
    with pytest.raises(ValueError, match="x has 2 events but scores has 3; pass one entry per"):
        column([1.0, 2.0], "x", 3)


def test_columns_of_one_name_are_refused():
    table = pd.DataFrame(np.ones((4, 2)), columns=["mass", "mass"])
    with pytest.raises(ValueError, match=r"mass has shape \(4, 2\); expected one value per event"):
        protected_columns(table)


def test_columns_of_one_length():
    with pytest.raises(ValueError, match="pt has 2 events but mass has 3"):
        protected_columns({"mass": [1.0, 2.0, 3.0], "pt": [1.0, 2.0]})


def test_names_decide_where_both_have_them():
    table = {"pt": [3.0, 4.0], "mass": [1.0, 2.0]}
    assert [list(x) for x in in_order_of(["mass", "pt"], table)] == [[1, 2], [3, 4]]
    plain = np.array([[1.0, 3.0], [2.0, 4.0]])
    assert [list(x) for x in in_order_of(["mass", "pt"], plain)] == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="protected has no column 'mass'; it has"):
        in_order_of(["mass", "pt"], {"m": [1.0], "pt": [1.0]})
