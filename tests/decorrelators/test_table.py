import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline

import unsculpt as us
from unsculpt.datasets import toys

SPLINE = us.SplineDecorrelator()
OF_RANDOM_COLUMNS = [
    "ignore:.*is outside the fitted:UserWarning",
    "ignore:scores has one component:UserWarning",
]


@pytest.fixture(scope="module")
def events():
    toy = toys.smooth(1000, 500, seed=1)
    table = pd.DataFrame({"tagger": toy.score, "mass": toy.protected}, index=range(5, 1505))
    return table, toy.label


@pytest.fixture(scope="module")
def fitted(events):
    return us.TableDecorrelator(clone(SPLINE), protected=["mass"], background=0).fit(*events)


def test_it_is_the_decorrelator_fitted_on_background(events, fitted):
    table, label = events
    background = label == 0
    alone = clone(SPLINE).fit(table.tagger[background], table[["mass"]][background])
    want = alone.transform(table.tagger, table[["mass"]])
    np.testing.assert_array_equal(fitted.transform(table)[:, 0], want)
    assert not hasattr(fitted.decorrelator, "cdfs_")  # the one it was given stays as it was


def test_without_a_background_label_all_rows_are_fitted(events):
    table, label = events
    rows = table[label == 0]
    part = us.TableDecorrelator(clone(SPLINE), protected=["mass"]).fit(rows)
    want = us.TableDecorrelator(clone(SPLINE), protected=["mass"], background=0).fit(table, label)
    np.testing.assert_array_equal(part.transform(table), want.transform(table))


def test_positions_name_the_same_columns(events, fitted):
    table, label = events
    for position in (1, -1):
        by_position = us.TableDecorrelator(clone(SPLINE), protected=[position], background=0)
        flat = by_position.fit(table.to_numpy(), label).transform(table.to_numpy())
        np.testing.assert_array_equal(flat, fitted.transform(table))


def test_weights_reach_the_fit(events, fitted):
    table, label = events
    weight = np.where(label == 0, table.mass, 1.0)
    weighted = clone(fitted).fit(table, label, sample_weight=weight)
    assert np.abs(weighted.transform(table) - fitted.transform(table)).max() > 1e-4
    background = label == 0
    alone = clone(SPLINE).fit(
        table.tagger[background], table[["mass"]][background], sample_weight=weight[background]
    )
    want = alone.transform(table.tagger, table[["mass"]])
    np.testing.assert_array_equal(weighted.transform(table)[:, 0], want)


def test_weights_of_other_rows_do_not_matter(events):
    """The total that has to be positive is that of the rows that are fitted."""
    table, label = events
    spline = us.TableDecorrelator(clone(SPLINE), protected=["mass"], background=0)
    want = spline.fit(table, label).transform(table)
    weight = np.where(label == 0, 1.0, -10.0)
    weighted = clone(spline).fit(table, label, sample_weight=weight)
    np.testing.assert_array_equal(weighted.transform(table), want)
    with pytest.raises(ValueError, match="sample_weight sums to -1000 over 1,000 events"):
        clone(spline).fit(table, label, sample_weight=np.where(label == 0, -1.0, 10.0))


def test_many_scores_and_a_category(events):
    table, label = events
    table = table.assign(year=np.where(np.arange(len(table)) % 2, "2017", "2018"), other=1.0)
    table["other"] = table.tagger**3
    spline = us.SplineDecorrelator(categorical=["year"])
    flat = us.TableDecorrelator(spline, protected=["mass", "year"], background=0)
    out = flat.set_output(transform="pandas").fit_transform(table, label)
    assert out.columns.tolist() == ["tagger", "other"]
    assert out.index.equals(table.index)
    assert ((out >= 0) & (out <= 1)).all(axis=None)


def test_no_row_is_transformed_by_a_model_that_has_seen_it(events, tmp_path):
    table, label = events
    folds = us.TableDecorrelator(us.CrossFit(us.DDTDecorrelator(), 3), ["mass"], background=0)
    flat = folds.fit_transform(table, label)[:, 0]
    score, mass, row = table["tagger"].to_numpy(), table["mass"].to_numpy(), np.arange(len(table))
    own = us.CrossFit(us.DDTDecorrelator(), 3)
    own.fit(score[label == 0], mass[label == 0], event=row[label == 0])
    np.testing.assert_array_equal(flat, own.transform(score, mass, event=row))
    np.testing.assert_array_equal(folds.transform(table)[:, 0], own.transform(score, mass))
    pipeline = make_pipeline(clone(folds), LogisticRegression()).fit(table, label)
    want = LogisticRegression().fit(flat[:, None], label)
    assert pipeline[-1].coef_ == pytest.approx(want.coef_)
    folds.save(tmp_path / "table.unsculpt")
    loaded = us.load(tmp_path / "table.unsculpt")
    np.testing.assert_array_equal(loaded.transform(table), folds.transform(table))


def test_in_a_pipeline(events, fitted):
    table, label = events
    pipeline = make_pipeline(clone(fitted), LogisticRegression()).fit(table, label)
    want = LogisticRegression().fit(fitted.transform(table), label)
    np.testing.assert_allclose(
        pipeline.predict_proba(table), want.predict_proba(fitted.transform(table))
    )


KNN = us.TableDecorrelator(us.KNNDecorrelator(), protected=["mass"], background=0)


@pytest.mark.filterwarnings(*OF_RANDOM_COLUMNS)
def test_each_fold_of_a_cross_validation_is_fitted_on_the_others(events):
    table, label = events
    folds = list(StratifiedKFold(3).split(table, label))
    pipeline = make_pipeline(KNN, LogisticRegression())
    found = cross_validate(pipeline, table, label, cv=folds, error_score="raise")["test_score"]
    for (train, test), score in zip(folds, found, strict=True):
        flat = clone(KNN).fit(table.iloc[train], label[train])
        last = LogisticRegression().fit(flat.transform(table.iloc[train]), label[train])
        assert score == last.score(flat.transform(table.iloc[test]), label[test])


@pytest.mark.filterwarnings(*OF_RANDOM_COLUMNS)
def test_in_a_grid_search(events):
    table, label = events
    grid = {
        "tabledecorrelator__background": [None, 0],
        "tabledecorrelator__decorrelator__efficiency": [0.1, 0.5],
    }
    pipeline = make_pipeline(KNN, LogisticRegression())
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(table, label)
    best = search.best_params_["tabledecorrelator__decorrelator__efficiency"]
    assert search.best_estimator_[0].decorrelator_.efficiency == best
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0


@pytest.mark.filterwarnings(*OF_RANDOM_COLUMNS)
@pytest.mark.parametrize("asked", [True, False])
def test_weights_are_routed_if_asked_for(events, asked):
    table, label = events
    weight = np.where(label == 0, table.mass, 1.0)
    folds = list(StratifiedKFold(2).split(table, label))
    with config_context(enable_metadata_routing=True):
        last = LogisticRegression().set_fit_request(sample_weight=True)
        last.set_score_request(sample_weight=True)
        pipeline = make_pipeline(clone(KNN).set_fit_request(sample_weight=asked), last)
        made = cross_validate(
            pipeline,
            table,
            label,
            cv=folds,
            params={"sample_weight": weight},
            return_estimator=True,
            error_score="raise",
        )
    for (train, _), found in zip(folds, made["estimator"], strict=True):
        own = weight[train] if asked else None
        want = clone(KNN).fit(table.iloc[train], label[train], sample_weight=own)
        np.testing.assert_array_equal(found[0].transform(table), want.transform(table))


def test_in_a_column_transformer(events, fitted):
    table, label = events
    table = table.assign(pt=np.arange(len(table)))
    part = ColumnTransformer(
        [("flat", clone(fitted), ["tagger", "mass"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    out = part.fit_transform(table, label)
    assert out.columns.tolist() == ["tagger", "pt"]
    np.testing.assert_array_equal(out.tagger, fitted.transform(table.drop(columns="pt"))[:, 0])


def test_save_and_load(events, fitted, tmp_path):
    table, label = events
    fitted.save(tmp_path / "table.unsculpt")
    again = us.load(tmp_path / "table.unsculpt")
    np.testing.assert_array_equal(again.transform(table), fitted.transform(table))
    assert again.get_feature_names_out().tolist() == ["tagger"]
    assert again.background == 0
    # What is loaded can be fitted anew.
    np.testing.assert_array_equal(again.fit(table, label).transform(table), fitted.transform(table))


@pytest.mark.parametrize(
    ("protected", "background", "message"),
    [
        (["mas"], None, r"protected names 'mas', but the table has \['tagger', 'mass'\]"),
        ([2], None, "protected names 2, but the table has"),
        ("mass", None, "protected is 'mass'; expected a list of columns, by name or position"),
        (1, None, "protected is 1; expected a list of columns"),
        ([], None, r"protected is \[\] of a table with 2 columns; expected at least one"),
        (["mass", "tagger"], None, "of a table with 2 columns; expected at least one"),
        (["mass"], 7, r"y has no 7, the label of background; it holds \[0, 1\]"),
    ],
)
def test_what_cannot_be_fitted(events, protected, background, message):
    table, label = events
    with pytest.raises(ValueError, match=message):
        us.TableDecorrelator(clone(SPLINE), protected, background).fit(table, label)


def test_background_needs_labels(events):
    with pytest.raises(ValueError, match="background is 0; pass the labels as y"):
        us.TableDecorrelator(clone(SPLINE), ["mass"], background=0).fit(events[0])


@pytest.mark.parametrize("read", [pa.Table.from_pandas, pl.DataFrame])
def test_tables_of_other_libraries(events, fitted, read):
    table, label = events
    table = table.reset_index(drop=True)
    model = clone(fitted).fit(read(table), label)
    np.testing.assert_array_equal(model.transform(read(table)), fitted.transform(table))


def test_no_rows_in_none_out(events, fitted):
    assert fitted.transform(events[0][:0]).shape == (0, 1)
