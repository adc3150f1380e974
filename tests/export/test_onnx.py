import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import unsculpt as us
from unsculpt.classifiers import Classifier
from unsculpt.export import to_onnx
from unsculpt.export.onnx import _model
from unsculpt.graph import Graph

# What the parser of ROOT's SOFIE knows by name, of what we use.
SOFIE = {
    *("Add", "Sub", "Mul", "Div", "MatMul", "Less", "Greater", "Equal", "Where", "Cast"),
    *("Gather", "Concat", "Squeeze", "Unsqueeze", "ReduceMean", "ReduceSum", "Softmax"),
    *("Abs", "Exp", "Log", "Relu", "Sigmoid", "Tanh"),
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("spline", "chain")]


def session_of(model, folder, **options):
    path = folder / "model.onnx"
    to_onnx(model, path, **options)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


class TestAgreement:
    def test_with_python_at_and_beyond_everything_special(self, case, tmp_path):
        scores, protected = case.hard_events(3_000)
        flat = session_of(case.model, tmp_path).run(None, scores | protected)
        expected = case.transform(scores, protected)
        np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-6)

    def test_on_many_events(self, tagger, tmp_path):
        scores, protected = tagger.hard_events(50_000)
        assert np.mean(np.isin(scores["score"], [0, 0.5, 1])) > 0.05
        (flat,) = session_of(tagger.model, tmp_path).run(None, scores | protected)
        (expected,) = tagger.transform(scores, protected)
        np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-12)

    def test_on_one_event(self, case, tmp_path):
        scores, protected = case.hard_events(1)
        flat = session_of(case.model, tmp_path).run(None, scores | protected)
        expected = case.transform(scores, protected)
        np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-6)

    def test_the_order_is_kept(self, ordered, tmp_path):
        scores, _ = ordered.hard_events(5_000)
        here = {name: np.repeat(column[:1], 5_000) for name, column in ordered.protected.items()}
        scores = {name: np.sort(column) for name, column in scores.items()}
        for flat in session_of(ordered.model, tmp_path).run(None, scores | here):
            assert np.diff(flat).min() >= -1e-7
            assert flat[-1] > flat[0]


@pytest.mark.parametrize("factor", [1 - 2e-9, 1 + 1e-12, 1.0])
def test_a_factor_that_is_nearly_one_is_not_one(factor):
    """onnxruntime leaves such factors away; of scores near one that made 2e-5 of the level."""
    graph = Graph()
    x = graph.input("x")
    for name, y in (("times", x * factor), ("over", x / factor), ("under", factor / x)):
        graph.output(name, y)
    session = onnxruntime.InferenceSession(_model(graph, onnx, False).SerializeToString())
    found = session.run(None, {"x": np.array([3.0])})
    wanted = [[3 * factor], [3 / factor], [factor / 3]]
    np.testing.assert_allclose(found, wanted, rtol=4e-16)


class TestSinglePrecision:
    def test_is_taken_as_it_is(self, case, tmp_path):
        parts = [
            {k: v if v.dtype.kind == "U" else v.astype(np.float32) for k, v in part.items()}
            for part in case.hard_events(1_000)
        ]
        session = session_of(case.model, tmp_path, single=True)
        flat = session.run(None, parts[0] | parts[1])
        assert flat[0].dtype == np.float64
        np.testing.assert_allclose(flat, case.transform(*parts), rtol=0, atol=1e-6)


class TestWhatPythonRefuses:
    def test_outside_becomes_nan(self, tagger, tmp_path):
        session = session_of(tagger.changed(outside="raise").model, tmp_path)
        mass = tagger.protected["protected"]
        masses = np.array([mass.min(), mass.max(), mass.min() - 1, mass.max() + 1e-6, np.inf])
        (flat,) = session.run(None, {"score": np.full(5, 0.7), "protected": masses})
        assert np.isfinite(flat).tolist() == [True, True, False, False, False]

    def test_unknown_categories_become_nan(self, channels, tmp_path):
        events = {
            "score": np.zeros(3),
            "mass": np.full(3, 90.0),
            "channel": np.array(["ee", "tt", "mm"]),
            "year": np.array([2017.0, 2018.0, 2016.0]),
        }
        (flat,) = session_of(channels.model, tmp_path).run(None, events)
        assert np.isfinite(flat).tolist() == [True, False, False]

    def test_probabilities_that_do_not_sum_to_one_become_nan(self, classes, tmp_path):
        columns = {"score_0": [0.3, 0.3, -0.1], "score_1": [0.2, 0.3, 0.6]}
        columns |= {"score_2": [0.5, 0.5, 0.5], "protected": [100.0] * 3}
        events = {name: np.array(column) for name, column in columns.items()}
        for flat in session_of(classes.model, tmp_path).run(None, events):
            assert np.isfinite(flat).tolist() == [True, False, False]

    def test_nan_stays_nan(self, case, tmp_path):
        session = session_of(case.model, tmp_path)
        for name in [*case.scores, *case.protected]:
            events = {k: v[:2].copy() for k, v in (case.scores | case.protected).items()}
            if events[name].dtype.kind == "U":
                continue
            events[name][0] = np.nan
            flat = session.run(None, events)
            assert any(np.isnan(column[0]) for column in flat)
            assert not any(np.isnan(column[1]) for column in flat)


class TestClassifierAndDecorrelator:
    def test_are_one_graph(self, classified, tmp_path):
        method, (classifier, model, features, mass) = classified
        session = session_of(model, tmp_path, classifier=classifier, method=method)
        (flat,) = session.run(None, {"features": features, "protected": mass})
        score = getattr(classifier, method)(features)
        expected = model.transform(score[:, 1] if score.ndim == 2 else score, mass)
        np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-7)

    def test_as_a_chain(self, classified, tmp_path):
        method, (classifier, model, features, mass) = classified
        if method != "predict_proba":
            pytest.skip("a chain passes probabilities on")
        chain = classifier.then(model)
        session = session_of(chain, tmp_path)
        (flat,) = session.run(None, {"features": features, "protected": mass})
        np.testing.assert_allclose(flat, chain.transform(features, mass), rtol=0, atol=1e-6)

    def test_log_odds_are_not_taken_for_probabilities(self, classified, tmp_path):
        method, (classifier, model, *_) = classified
        if method == "predict_proba":
            pytest.skip("its scores are probabilities")
        with pytest.raises(ValueError, match="method='decision_function'"):
            to_onnx(model, tmp_path / "model.onnx", classifier=classifier)

    def test_must_agree_on_the_number_of_scores(self, classified, two_scores, tmp_path):
        _, (classifier, *_) = classified
        with pytest.raises(ValueError, match="gives 1 scores; the decorrelator was fitted on 2"):
            to_onnx(
                two_scores.model,
                tmp_path / "model.onnx",
                classifier=classifier,
                method="decision_function",
            )


class TestCrossFit:
    @pytest.mark.parametrize("name", ["knn", "ddt", *SLOW])
    def test_the_fold_is_an_input(self, name, request, tmp_path):
        inner = request.getfixturevalue(name)
        case = inner._replace(model=crossed(inner.model, inner))
        scores, protected = case.hard_events(2_000)
        fold = np.random.default_rng(0).integers(-1, 3, 2_000)
        session = session_of(case.model, tmp_path)
        assert session.get_inputs()[-1].name == "fold"
        flat = session.run(None, scores | protected | {"fold": fold.astype(float)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = case.model.transform(
                np.column_stack(list(scores.values())), pd.DataFrame(protected), fold=fold
            )
        np.testing.assert_allclose(flat, expected.T, rtol=0, atol=1e-6)
        assert np.isnan(flat).any() == (case.model.outside == "nan")

    def test_of_a_classifier_and_its_map(self, tmp_path):
        rng = np.random.default_rng(1)
        mass, label = rng.uniform(50, 150, 900), rng.integers(2, size=900)
        features = np.column_stack([mass + 50 * label, rng.normal(size=900) + label])
        chain = Classifier(hidden=(8,), epochs=1).then(us.KNNDecorrelator())
        model = us.CrossFit(chain, folds=3).fit(features, mass, label=label)
        fold = np.arange(900) % 3
        inputs = {"features": features, "protected": mass, "fold": fold.astype(float)}
        (flat,) = session_of(model, tmp_path).run(None, inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = model.transform(features, mass, fold=fold)
        np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-6)


def crossed(model, case):
    """The same method in three folds of the same events."""
    scores = np.column_stack(list(case.scores.values()))
    return us.CrossFit(clone(model), folds=3).fit(scores, pd.DataFrame(case.protected))


class TestFile:
    def test_says_what_it_is(self, marked, tmp_path):
        session_of(marked.model, tmp_path)
        proto = onnx.load(tmp_path / "model.onnx")
        onnx.checker.check_model(proto, full_check=True)
        assert {o.domain: o.version for o in proto.opset_import}[""] == 18
        metadata = {p.key: p.value for p in proto.metadata_props}
        assert metadata["decorrelator"] == "FlowDecorrelator"

    def test_inputs_bear_the_columns_names(self, tagger, tmp_path):
        columns = {"score": ["tagger"], "protected": ["jet_mass / 1000"]}
        session = session_of(tagger.changed(source_=columns).model, tmp_path)
        assert [x.name for x in session.get_inputs()] == ["tagger", "jet_mass_1000"]
        assert [x.name for x in session.get_outputs()] == ["flat"]
        assert session.get_inputs()[0].shape == ["events"]

    def test_says_how_to_prepare_the_inputs(self, channels, tmp_path):
        columns = {"score": ["-log(bdt)"], "protected": ["m / 1000", "channel", "year"]}
        session_of(channels.changed(source_=columns).model, tmp_path)
        proto = onnx.load(tmp_path / "model.onnx")
        inputs = json.loads({p.key: p.value for p in proto.metadata_props}["inputs"])
        assert list(inputs) == ["log_bdt", "m_1000", "channel", "year"]
        assert inputs["log_bdt"]["expression"] == "-log(bdt)"
        mass = channels.protected["mass"]
        assert inputs["m_1000"]["range"] == [mass.min(), mass.max()]
        assert inputs["channel"]["categories"] == ["ee", "em", "mm"]
        assert '"m / 1000", fitted from 50' in proto.graph.input[1].doc_string

    def test_has_only_operators_that_sofie_reads_too(self, case, tmp_path):
        session_of(case.model, tmp_path)
        used = {node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node}
        text = any(column.dtype.kind == "U" for column in case.protected.values())
        assert used <= SOFIE | ({"LabelEncoder"} if text else set())

    def test_is_the_same_each_time(self, two_scores, tmp_path):
        for name in ("a", "b"):
            to_onnx(two_scores.model, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class TestErrors:
    def test_a_model_that_is_no_decorrelator(self, classified, tmp_path):
        _, (classifier, *_) = classified
        with pytest.raises(ValueError, match="a Classifier cannot be exported"):
            to_onnx(classifier, tmp_path / "model.onnx")

    def test_a_model_that_is_not_fitted(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted"):
            to_onnx(us.FlowDecorrelator(), tmp_path / "model.onnx")

    def test_neighbours_in_several_attributes(self, two_scores, tmp_path):
        score, protected = two_scores.scores["score_0"], list(two_scores.protected.values())
        model = us.KNNDecorrelator().fit(score, np.column_stack(protected))
        with pytest.raises(ValueError, match="KNNDecorrelator of several attributes cannot"):
            to_onnx(model, tmp_path / "model.onnx")

    def test_two_columns_of_one_name(self, tagger, tmp_path):
        columns = {"score": ["mass"], "protected": ["mass"]}
        with pytest.raises(ValueError, match="two inputs would be called 'mass'"):
            to_onnx(tagger.changed(source_=columns).model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())

    def test_a_column_with_the_name_of_the_output(self, tagger, tmp_path):
        columns = {"score": ["score"], "protected": ["flat"]}
        with pytest.raises(ValueError, match="an input is called 'flat' like the output"):
            to_onnx(tagger.changed(source_=columns).model, tmp_path / "model.onnx")
