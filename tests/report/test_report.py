import json
import re
from copy import copy

import numpy as np
import pandas as pd
import pytest

import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import toys
from unsculpt.plots.axis import Axis
from unsculpt.report import write_report
from unsculpt.report.cuts import CutTests, fraction
from unsculpt.report.events import Events
from unsculpt.report.measure import Measure
from unsculpt.report.pictures import pictures
from unsculpt.report.spurious import spurious_signal


@pytest.fixture(scope="module")
def page(written, parse):
    return parse(written[0])


@pytest.fixture(scope="module")
def edges(toy):
    return Axis.from_events(toy.protected, toy.label, 50, "mass").edges


def test_the_summary_is_what_the_metrics_say(written, toy, weight, edges):
    flat, coarse = toy.cdf(toy.score, toy.protected), np.linspace(edges[0], edges[-1], 21)
    for row, score in zip(written[1], (toy.score, flat), strict=True):
        events, weights = (score, toy.label, toy.protected), {"sample_weight": weight}
        expected = {
            "R50": metrics.rejection(*events[:2], **weights),
            "1/JSD50": metrics.inverse_jsd(*events, bins=edges, **weights),
            "AUC": metrics.auc(*events[:2], **weights),
            "AUC at fixed": metrics.expected_auc(*events, bins=coarse, **weights),
        }
        values = {name.split(" <")[0]: value for name, value in row.values.items()}
        for name, value in expected.items():
            assert values[name].value == pytest.approx(value)
            assert values[name].low < value < values[name].high
        ideal = metrics.ideal_inverse_jsd(*events, bins=edges, **weights)
        assert row.values["ideal 1/JSD50"].mean == pytest.approx(ideal.mean)
        assert json.loads(json.dumps(row.plain(), allow_nan=False))["score"] == row.score


def test_every_working_point_is_in_the_page(page, toy, weight, edges):
    """What the slider adds up is what the metrics compute from the events."""
    data = json.loads(page.scripts[0])
    flat = toy.cdf(toy.score, toy.protected)
    for score, drawn in zip((toy.score, flat), data["scores"], strict=True):
        background = np.cumsum(drawn["background"], axis=0)
        for percent in (2, 50, 97):
            cut = {"efficiency": percent / 100, "sample_weight": weight}
            passing, failing = background[percent - 1], background[-1] - background[percent - 1]
            rejection = background[-1].sum() / passing.sum()
            assert rejection == pytest.approx(metrics.rejection(score, toy.label, **cut), rel=1e-4)
            divergence = metrics.jensen_shannon(passing[:-1], failing[:-1])
            expected = metrics.jsd(score, toy.label, toy.protected, bins=edges, **cut)
            assert divergence == pytest.approx(expected, rel=1e-3)


def test_names_are_text_and_never_code(page, hostile):
    assert len(page.all("script")) == 2
    assert len(page.all("style")) == 1
    assert not page.all("iframe")
    assert hostile.split(" [")[0] in page.text
    assert json.loads(page.scripts[0])["name"] == hostile


def test_nothing_is_fetched(written, page):
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "data", "action", "poster", "srcset"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:,")), (tag, target)
    assert not re.search(r"@import|url\((?!#)", written[0].read_text(encoding="utf-8"))


def test_references_within_the_page_lead_somewhere(written, page):
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    text = written[0].read_text(encoding="utf-8")
    wanted = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    assert {a or b for a, b in wanted} <= set(names)
    for attributes in page.all("label"):
        assert attributes["for"] in names
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "aria-controls"):
            assert set(attributes.get(name, "").split()) <= set(names)


def test_every_figure_has_words_a_table_and_files(written, page):
    drawings = [a for a in page.all("div") if "drawing" in a.get("class", "").split()]
    figures = {file.name for file in written[0].with_name("figures").iterdir()}
    slugs = {
        "spectrum",
        "residuals",
        "spurious",
        "efficiency",
        "scores",
        "separation",
        "cut",
        "training",
    }
    assert figures == {f"{slug}.{ending}" for slug in slugs for ending in ("pdf", "png")}
    assert len(drawings) == len(page.all("details")) - 1 == len(slugs)
    assert all(d["role"] == "img" and len(d["aria-label"]) > 20 for d in drawings)


def test_provenance_tells_the_model_the_events_and_the_versions(page):
    for text in ("Exact", "seed 0", "events 12", "4,000 background", "1,000 signal", "unsculpt 0"):
        assert text in page.text


@pytest.mark.slow
def test_several_attributes_and_categories(toy, exact, parse, tmp_path):
    table = pd.DataFrame({"mass": toy.protected, "run": np.where(toy.score > 0.5, "a", "b")})
    numbers = write_report(tmp_path / "r.html", exact, toy.score, table, toy.label)
    assert {"1/JSD50 of mass", "1/JSD50 of run"} <= numbers[0].values.keys()
    # The inverse of a divergence in two bins has no mean over random selections.
    assert numbers[0].plain()["ideal 1/JSD50 of run"] == {"mean": None, "spread": None}
    page = parse(tmp_path / "r.html")
    assert {"spectrum", "spectrum-2", "residuals-2"} <= {a.get("id") for a in page.all("section")}
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_numbers_that_the_model_takes_for_categories(toy, tmp_path, parse, no_pictures):
    table = pd.DataFrame({"mass": toy.protected, "run": np.where(toy.protected > 90, 7, 3)})
    model = us.KNNDecorrelator(categorical=["run"]).fit(toy.score, table)
    write_report(tmp_path / "r.html", model, toy.score, table[["run", "mass"]], toy.label)
    data = json.loads(parse(tmp_path / "r.html").scripts[0])
    assert (data["name"], data["categories"]) == ("run", ["3", "7"])


def test_a_method_that_knows_its_own_cut_alone(toy, exact):
    model = copy(exact)
    model.efficiency_ = 0.02

    def threshold(efficiency, protected):
        if efficiency != 0.02:
            raise ValueError("known at 0.02 alone")
        return np.full(len(protected), 0.8)

    model.threshold = threshold
    events = Events.prepare(model, toy.score, toy.protected, toy.label, None, ["mass"], 50)
    *_, picture, _ = pictures(events, 0.5)
    assert picture.slug == "cut"
    assert picture.tables[0].header == ["mass", "cut for 2%"]
    assert {row[1] for row in picture.tables[0].rows} == {"0.8"}


@pytest.mark.slow
def test_the_first_attribute_may_be_a_category(toy, exact, parse, tmp_path):
    model = copy(exact)
    model.transform = lambda scores, protected: np.asarray(scores) ** 2
    model.threshold = lambda efficiency, protected: np.full(len(protected), 1 - efficiency)
    channel = np.where(toy.protected > 90, "ee", "mm")
    write_report(tmp_path / "r.html", model, toy.score, channel, toy.label, names=["channel"])
    data = json.loads(parse(tmp_path / "r.html").scripts[0])
    assert data["categories"] == data["bins"] == ["ee", "mm"]


@pytest.fixture
def no_pictures(monkeypatch):
    """Saves the time they take where nobody looks at them."""
    monkeypatch.setattr("unsculpt.report.write.pictures", lambda *events: [])


def test_a_failure_leaves_the_older_report(toy, exact, tmp_path, monkeypatch, no_pictures):
    path = tmp_path / "r.html"
    path.write_text("older")

    def full(self, *args, **options):
        self.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(type(path), "write_text", full)
    with pytest.raises(OSError, match="no space"):
        write_report(path, exact, toy.score, toy.protected, toy.label)
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_events_without_a_decorrelated_score_are_left_out(toy, exact, tmp_path, no_pictures):
    model = copy(exact)
    model.transform = lambda scores, mass: np.where(mass > 200, np.nan, toy.cdf(scores, mass))
    write_report(tmp_path / "r.html", model, toy.score, toy.protected, toy.label)
    kept = np.sum(toy.background & (toy.protected <= 200))
    assert f"{kept:,} background" in (tmp_path / "r.html").read_text()


@pytest.fixture(scope="module")
def control_region(toy, exact, tmp_path_factory):
    """A report on background alone: its page and its numbers."""
    path = tmp_path_factory.mktemp("control") / "r.html"
    chosen = toy.background
    numbers = write_report(path, exact, toy.score[chosen], toy.protected[chosen], title="Region B")
    return path, numbers


def test_background_alone_shows_what_needs_no_signal(control_region, toy, parse):
    path, (raw, flat) = control_region
    page = parse(path)
    sections = {a.get("id") for a in page.all("section")}
    assert {"spectrum", "residuals", "efficiency", "scores", "cut"} <= sections
    assert "separation" not in sections
    for text in ("Region B", "there is no signal among these events", "4,000 background"):
        assert text in page.text
    assert "50% background efficiency" in page.text
    assert "signal kept" not in page.text
    assert raw.flatness.statistics.p_value < 1e-9
    assert flat.flatness.statistics.p_value > 1e-4
    data = json.loads(page.scripts[0])
    counts = np.sum(data["scores"][0]["background"][:50])  # what passes at half of the background
    assert counts == pytest.approx(2000, abs=2)
    assert "signal" not in data["scores"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.ones(5000)}, "no background among the 5000 events"),
        ({"labels": np.arange(5000) % 3}, "labels is neither 0 nor 1"),
        ({"sample_weight": np.zeros(5000)}, "background sums to 0 over 4000 events"),
        ({"bins": [0, 1e6]}, "has one bin, which holds everything"),
        ({"bins": [900, 950, 1000]}, "hold none of the 4,000 background events"),
        ({"labels": [0, 1]}, "labels has 2 events"),
        ({"scores": np.zeros((5000, 2))}, "a report is about one score"),
        ({"names": ["mass", "pt"]}, "names has 2 entries for 1 attributes"),
        ({"path": "missing/report.html"}, "there is no folder missing"),
    ],
)
def test_bad_input_is_named_and_nothing_written(toy, exact, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    given = {"path": "r.html", "scores": toy.score, "labels": toy.label, "names": None} | change
    path, scores, labels = (given.pop(name) for name in ("path", "scores", "labels"))
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        write_report(path, exact, scores, toy.protected, labels, figures="figures", **given)
    assert not list(tmp_path.iterdir())


def test_figures_have_the_bins_and_the_name_of_the_score_that_are_given(toy, exact):
    given = toy.label, None, ["mass"], [50, 60, 80, 120, 300]
    events = Events.prepare(exact, toy.score, toy.protected, *given)
    drawn = {picture.slug: picture for picture in pictures(events, 0.5, "DNN")}
    for slug in ("spectrum", "residuals", "efficiency", "separation"):
        (table,) = drawn[slug].tables
        where = [row[0] for row in table.rows]
        assert where == ["50 to 60", "60 to 80", "80 to 120", "120 to 300"]
    assert drawn["cut"].figure.axes[0].get_ylabel() == "cut on raw DNN"
    assert drawn["scores"].figure.axes[0].get_xlabel() == "raw DNN"


def test_folds_reach_a_crossfit(toy):
    model = us.CrossFit(us.KNNDecorrelator(), folds=3)
    number = np.arange(len(toy.score))[::-1]
    flat = model.fit_transform(toy.score, toy.protected, event=number)
    events = Events.prepare(model, toy.score, toy.protected, toy.label, None, None, 50, number)
    np.testing.assert_array_equal(events.scores["decorrelated score"], flat)
    assert (
        "CrossFit fold" in CutTests(events)("decorrelated score", np.median(flat)).statistics.worst
    )


def test_resamples_are_measured_as_the_metrics_do(toy, exact, weight):
    """With ties, weights of both signs and two attributes, one of them a category."""
    table = pd.DataFrame({"mass": toy.protected, "run": np.where(toy.protected > 90, "a", "b")})
    score = np.round(toy.score, 2)
    events = Events.prepare(exact, score, table, toy.label, weight, None, 50)
    drawn = np.random.default_rng(1).integers(len(score), size=len(score))
    found = Measure(events, score, 0.3)(drawn)
    some = score[drawn], toy.label[drawn]
    cut, by = {"sample_weight": weight[drawn]}, [axis.values[drawn] for axis in events.axes]
    edges = [axis.edges for axis in events.axes]
    coarse = events.axes[0].with_bins(20).edges
    expected = [
        metrics.rejection(*some, efficiency=0.3, **cut),
        metrics.auc(*some, **cut),
        metrics.expected_auc(*some, by[0], bins=coarse, **cut),
        metrics.inverse_jsd(*some, by[0], bins=edges[0], efficiency=0.3, **cut),
        metrics.inverse_jsd(*some, by[1], bins=edges[1], efficiency=0.3, **cut),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_classes_that_share_no_bin_have_no_auc_at_fixed_mass(exact):
    labels = np.array([0, 0, 0, 1, 1])
    mass = np.array([60.0, 70.0, 80.0, 300.0, 310.0])
    score = np.array([0.1, 0.5, 0.9, 0.4, 0.8])
    events = Events.prepare(exact, score, mass, labels, None, None, 50)
    assert np.isnan(Measure(events, score, 0.5)(np.arange(5))[2])


def test_a_search_finds_a_signal_in_what_a_sculpting_cut_leaves(exact):
    toy = toys.tagger(100_000, 5000, seed=1)
    events = Events.prepare(exact, toy.score, toy.protected, toy.label, None, ["mass"], 50)
    search = spurious_signal(events, 0.5)
    (table,) = search.tables
    assert table.header[0] == "window of mass"
    pulls = np.array([[float(cell) for cell in row[-3:]] for row in table.rows])
    every, raw, flat = np.abs(pulls).max(axis=0)
    assert raw > 4
    assert max(every, flat) < 3.5
    assert "is fitted, the lowest that describes all background" in search.caption
    few = Events.prepare(exact, toy.score, toy.protected, toy.label, None, ["mass"], 10)
    assert spurious_signal(few, 0.5) is None


def test_no_search_in_a_spectrum_with_a_hole_or_bins_of_several_widths(exact):
    toy = toys.tagger(20_000, 1000, seed=1)
    seen = (toy.protected < 70) | (toy.protected > 100)

    def found(rows, bins):
        given = toy.score[rows], toy.protected[rows], toy.label[rows]
        return spurious_signal(Events.prepare(exact, *given, None, ["mass"], bins), 0.5)

    assert found(slice(None), 50) is not None
    assert found(seen, 50) is None
    assert found(slice(None), np.r_[50:100:5, 100:300:10]) is None


def test_a_spectrum_that_no_function_describes_is_said_to_be_one(exact):
    toy = toys.tagger(40_000, 2000, seed=1)
    kept = (toy.protected > 90) | (np.arange(len(toy.label)) % 5 == 0)  # a trigger turns on at 90
    given = toy.score[kept], toy.protected[kept], toy.label[kept]
    search = spurious_signal(Events.prepare(exact, *given, None, ["mass"], 50), 0.5)
    assert "the highest that is tried, and does not describe all background" in search.caption
    assert "within two errors" not in search.caption
    beyond = Events.prepare(exact, *given, None, ["mass"], np.linspace(90, 290, 51))
    assert "the lowest that describes all background" in spurious_signal(beyond, 0.5).caption


def test_a_share_of_no_event_has_an_error():
    weight = np.array([1.0, 2, 1, 2])
    assert fraction(weight < 0, weight).spread > 0.1
    assert fraction(weight > 0, weight).spread > 0.1
    share = fraction(weight > 1, weight)
    assert share.mean == pytest.approx(2 / 3)
    assert share.spread == pytest.approx(np.sqrt(2 * (2 / 3) ** 2 + 2 * (2 / 3) ** 2) / 6)


def test_event_numbers_are_for_a_crossfit(toy, exact):
    with pytest.raises(ValueError, match="event is for a CrossFit"):
        Events.prepare(exact, toy.score, toy.protected, toy.label, None, None, 50, toy.label)


def test_models_side_by_side(toy, exact, parse, tmp_path, no_pictures):
    knn = us.KNNDecorrelator().fit(toy.score, toy.protected)
    path, given = tmp_path / "r.html", (toy.score, toy.protected, toy.label)
    numbers = write_report(path, {"exact": exact, "knn": knn}, *given)
    assert [row.score for row in numbers] == ["raw score", "exact score", "knn score"]
    page = parse(path)
    assert [s["name"] for s in json.loads(page.scripts[0])["scores"]] == [r.score for r in numbers]
    for text in ("cut on the exact score", "cut on the knn score", "Model of the knn score"):
        assert text in page.text
    alone = write_report(path, knn, *given)[1]
    assert alone.values["R50"].value == numbers[2].values["R50"].value
    with pytest.raises(ValueError, match="a model is called raw"):
        write_report(path, {"raw": knn}, *given)
