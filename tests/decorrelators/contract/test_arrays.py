"""Kinds of arrays and tables."""

import warnings

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from contract import EVENTS, Events, assert_same, background, fit, fitted, trains

import unsculpt as us
from unsculpt.inputs import Columns

JETS = np.tile([2, 0, 3, 1, 4], EVENTS // 10)  # in each collision
READERS = {
    "list": lambda array: array.tolist(),
    "float32": lambda array: array.astype("f4"),
    "Fortran order": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=0)[::2],
    "read only": lambda array: _read_only(array.copy()),
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
}
TABLES = {
    "pandas": lambda table: table,
    "pandas with another index": lambda table: table.set_index(
        np.arange(len(table)) + 9
    ),  # same folds
    "polars": pl.DataFrame,
    "pyarrow": pa.Table.from_pandas,
    "awkward": lambda table: ak.Array(dict(table.items())),
    "NumPy records": lambda table: table.to_records(index=False),
    "dictionary": lambda table: {name: column.to_numpy() for name, column in table.items()},
    "xarray": lambda table: xr.Dataset({n: ("event", c.to_numpy()) for n, c in table.items()}),
    "our columns": lambda table: Columns(
        {name: column.to_numpy() for name, column in table.items()}
    ),
}
COLUMNS = {
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow in chunks": lambda x: pa.chunked_array([x[:100], x[100:]]),
    "awkward": ak.Array,
    "xarray": lambda x: xr.DataArray(x, dims="event"),
}


def _read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("reader", READERS)
def test_arrays(kind, case, reader):
    if case == "mixed":
        pytest.skip("numbers here")
    events, model, read = background(kind, case), fitted(kind, case), READERS[reader]
    scores, table = read(events.scores), read(events.protected.to_numpy())
    before = np.array(scores), np.array(table)
    expected = [np.asarray(x, dtype=float) for x in (scores, table)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is outside the fitted")  # single precision
        assert_same(model.transform(scores, table), model.transform(*expected))
    assert_same(np.array(scores), before[0])
    assert_same(np.array(table), before[1])


@pytest.mark.parametrize("reader", TABLES)
def test_tables(kind, case, reader):
    events, model = background(kind, case), fitted(kind, case)
    table = TABLES[reader](events.protected)
    assert_same(model.transform(events.scores, table), model.transform(*events.pair))


@pytest.mark.parametrize("reader", TABLES)
def test_tables_of_scores(kind, case, reader):
    events, model = background(kind, case), fitted(kind, case)
    if events.scores.ndim == 1:
        pytest.skip("several scores here")
    names = list("abc")[: events.scores.shape[1]]
    table = TABLES[reader](pd.DataFrame(np.asarray(events.scores), columns=names))
    assert_same(model.transform(table, events.protected), model.transform(*events.pair))


@pytest.mark.parametrize("reader", COLUMNS)
def test_columns(kind, reader):
    events, model, read = background(kind, "one"), fitted(kind, "one"), COLUMNS[reader]
    if events.scores.ndim > 1 or len(events.protected.columns) > 1:
        pytest.skip("one column of each here")
    scores, mass = read(events.scores), read(events.protected["mass"].to_numpy())
    assert_same(model.transform(scores, mass), model.transform(*events.pair))


@pytest.mark.parametrize("reader", TABLES)
def test_a_fit_on_any_table(kind, case, reader):
    if trains(kind) or case != "one":
        pytest.skip("what a fit reads is what transform reads")
    events = background(kind, case)
    table = TABLES[reader](events.protected)
    model = fit(kind, Events(events.scores, table), case)
    assert_same(model.transform(*events.pair), fitted(kind, case).transform(*events.pair))


def in_lists(events):
    """Scores and attributes with one list for each collision; several scores are fields."""
    scores = events.scores
    if scores.ndim > 1:
        scores = ak.Array(dict(zip("abc", scores.T, strict=False)))
    table = ak.Array({name: list(column) for name, column in events.protected.items()})
    return ak.unflatten(scores, JETS), ak.unflatten(table, JETS)


def test_lists_in_lists_out(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    scores, table = in_lists(events)
    flat = model.transform(scores, table)
    assert ak.num(flat).tolist() == JETS.tolist()
    jets = ak.flatten(flat)
    if ak.fields(jets):
        jets = np.column_stack([jets[name] for name in ak.fields(jets)])
    assert_same(np.asarray(jets), model.transform(*events.pair))
    if hasattr(model, "threshold"):
        share = getattr(model, "efficiency", 0.1)
        cut = ak.to_numpy(ak.flatten(model.threshold(share, table)))
        assert_same(cut, model.threshold(share, events.protected))


def test_a_fit_on_lists(kind):
    if trains(kind):
        pytest.skip("what a fit reads is what transform reads")
    if kind is us.CrossFit:
        pytest.skip("jets of one event share a fold: test_crossfit.py")
    events = background(kind, "one")
    model = fit(kind, Events(*in_lists(events)), "one")
    assert_same(model.transform(*events.pair), fitted(kind, "one").transform(*events.pair))
    with pytest.raises(ValueError, match=r"is missing \(None\) in 40 entries; leave those out"):
        fit(kind, Events(*map(ak.firsts, in_lists(events))), "one")


@pytest.mark.parametrize("missing", [pd.array([1.0, None] * 200)])
def test_missing_values_are_refused(kind, missing):
    events, model = background(kind, "one"), fitted(kind, "one")
    for values in ((missing, events.protected), (events.scores, missing)):
        with pytest.raises(ValueError, match=r"scores|features|protected|mass"):
            model.transform(*values)
