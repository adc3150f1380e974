import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unsculpt.datasets import toys
from unsculpt.study import scores
from unsculpt.study.evaluation import evaluate
from unsculpt.study.scores import judge


@pytest.fixture
def saved():
    toy = toys.tagger(4000, 2000, seed=3)
    train = np.arange(len(toy.score)) % 2
    return {"score": toy.score, "label": toy.label, "mass": toy.protected, "train": train}


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch):
    paper = scores.FlowDecorrelator.paper
    monkeypatch.setattr(scores.FlowDecorrelator, "paper", lambda: paper(epochs=1))


def test_saved_scores_are_judged_as_ours_are(saved, tmp_path):
    np.savez(tmp_path / "saved.npz", **saved)
    raw, *flat = judge(tmp_path / "saved.npz", tmp_path / "out").rows
    test = saved["train"] == 0
    numbers = evaluate(saved["score"][test], saved["label"][test], saved["mass"][test])
    assert numbers == pytest.approx({name: raw[name] for name in numbers})
    assert [row["decorrelation"] for row in flat] == ["paper flow", "our flow"]
    assert flat[1]["inverse_jsd50"] > 3 * raw["inverse_jsd50"]
    assert pq.read_table(tmp_path / "out" / "scores.parquet").num_rows == 3
    assert (tmp_path / "out" / "figures" / "tradeoff.pdf").exists()


class Nothing:
    """A flow that does nothing, quickly."""

    @classmethod
    def paper(cls):
        return cls()

    def fit(self, scores, protected, sample_weight):
        assert len(sample_weight) == len(scores)

    def transform(self, scores, protected):
        return scores


def test_weights_count_and_a_half_is_put_aside(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "FlowDecorrelator", Nothing)
    del saved["train"]
    saved["weight"] = np.random.default_rng(0).uniform(0.5, 1.5, len(saved["score"]))
    pq.write_table(pa.table(saved), tmp_path / "saved.parquet")
    rows = judge(tmp_path / "saved.parquet", tmp_path / "out").rows
    assert rows[0]["events"] == pytest.approx(2000, rel=0.1)


def test_a_missing_column_is_named(saved, tmp_path):
    del saved["mass"]
    np.savez(tmp_path / "saved.npz", **saved)
    with pytest.raises(ValueError, match="mass"):
        judge(tmp_path / "saved.npz", tmp_path / "out")
    assert not (tmp_path / "out").exists()
