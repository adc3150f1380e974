import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.study import scores
from unsculpt.study.evaluation import evaluate
from unsculpt.study.figures import paper, tradeoff
from unsculpt.study.scores import judge


@pytest.fixture
def saved():
    toy = toys.tagger(4000, 2000, seed=3)
    train = np.arange(len(toy.score)) % 2
    return {"score": toy.score, "label": toy.label, "mass": toy.protected, "train": train}


class QuickFlow(SplineDecorrelator):
    """Splines, which stand in for the flow as well."""

    @classmethod
    def paper(cls):
        return cls()


@pytest.fixture
def quick(monkeypatch):
    for name in ("FlowDecorrelator", "SplineDecorrelator"):
        monkeypatch.setattr(scores, name, QuickFlow)
    monkeypatch.setattr(tradeoff, "RANDOM", 5)
    monkeypatch.setattr(paper, "FORMATS", ("pdf",))


def check(saved, folder):
    """Judge saved scores, and hold the numbers against those of the events."""
    np.savez(folder / "saved.npz", **saved)
    raw, *flat = judge(folder / "saved.npz", folder / "out").rows
    test = saved["train"] == 0
    numbers = evaluate(saved["score"][test], saved["label"][test], saved["mass"][test])
    assert numbers == pytest.approx({name: raw[name] for name in numbers})
    assert [row["decorrelation"] for row in flat] == ["paper flow", "ours"]
    assert flat[1]["inverse_jsd50"] > 3 * raw["inverse_jsd50"]
    assert pq.read_table(folder / "out" / "scores.parquet").num_rows == 3
    assert (folder / "out" / "figures" / "tradeoff.pdf").exists()


@pytest.mark.slow
def test_saved_scores_are_judged_as_ours_are(saved, tmp_path, quick):
    check(saved, tmp_path)


@pytest.mark.slow
def test_with_the_flow_itself(saved, tmp_path, monkeypatch):
    recipe = scores.FlowDecorrelator.paper
    monkeypatch.setattr(scores.FlowDecorrelator, "paper", lambda: recipe(epochs=1))
    check(saved, tmp_path)


def test_weights_count_and_a_half_is_put_aside(saved, tmp_path, quick, monkeypatch):
    weights, fit = [], QuickFlow.fit
    monkeypatch.setattr(scores, "save", lambda figures, folder: None)

    def weighted(self, values, protected, *, sample_weight):
        weights.append(sample_weight)
        return fit(self, values, protected, sample_weight=sample_weight)

    monkeypatch.setattr(QuickFlow, "fit", weighted)
    del saved["train"]
    saved["weight"] = np.random.default_rng(0).uniform(0.5, 1.5, len(saved["score"]))
    pq.write_table(pa.table(saved), tmp_path / "saved.parquet")
    rows = judge(tmp_path / "saved.parquet", tmp_path / "out").rows
    assert rows[0]["events"] == pytest.approx(2000, rel=0.1)
    assert [len(w) for w in weights] == [rows[0]["events"]] * 2
    assert np.isin(weights[0], saved["weight"]).all()


def test_a_missing_column_is_named(saved, tmp_path):
    del saved["mass"]
    np.savez(tmp_path / "saved.npz", **saved)
    with pytest.raises(ValueError, match="mass"):
        judge(tmp_path / "saved.npz", tmp_path / "out")
    assert not (tmp_path / "out").exists()
