import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt import FlowDecorrelator
from unsculpt.model_files import FORMAT, read_model, write_model


@pytest.fixture
def path(rough, tmp_path):
    rough.save(tmp_path / "tagger.unsculpt")
    return tmp_path / "tagger.unsculpt"


def metadata(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["unsculpt"])


def assert_same_bytes(flow, loaded, score, protected):
    for method in ("transform", "log_prob"):
        one, two = (getattr(f, method)(score, protected) for f in (flow, loaded))
        assert one.tobytes() == two.tobytes()
    for of in (lambda f: f.threshold(0.1, protected), lambda f: f.sample(protected, seed=1)):
        assert of(flow).tobytes() == of(loaded).tobytes()


class TestRoundTrip:
    def test_all_that_a_loaded_model_does_gives_the_same_bytes(self, rough, path, events):
        assert_same_bytes(rough, us.load(path), events.score, events.protected)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["tagger", "two_attributes", "binary", "paper", "atoms"])
    def test_of_every_kind(self, name, request, tmp_path):
        flow, train, _ = request.getfixturevalue(name)
        flow.save(tmp_path / "model")
        loaded = us.load(tmp_path / "model")
        assert_same_bytes(flow, loaded, train.score[:300], train.protected[:300])

    def test_a_loaded_model_transforms_without_jax(self, path):
        code = (
            f"import sys, unsculpt; flow = unsculpt.load({str(path)!r}); "
            "flow.transform([0.5], [0.5]), flow.threshold(0.1, [0.5]); print('jax' in sys.modules)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert result.stdout.strip() == "False", result.stderr

    def test_a_file_without_a_table_gives_the_same_bytes(self, path, rough, events):
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        del arrays["score.0.table"]
        write_model(path, arrays, {k: v for k, v in metadata(path).items() if k != "sha256"})
        one, two = (f.transform(events.score, events.protected) for f in (rough, us.load(path)))
        assert one.tobytes() == two.tobytes()

    def test_parameters_and_history_come_back(self, rough, path):
        loaded = us.load(path)
        assert isinstance(loaded, FlowDecorrelator)
        assert loaded.get_params() | {"categorical": ()} == rough.get_params()
        for name, values in rough.history_.items():
            np.testing.assert_array_equal(loaded.history_[name], values)

    def test_the_columns_it_was_fitted_on_come_back(self, rough, path, tmp_path):
        assert us.load(path).source_ is None
        named = copy.copy(rough)
        named.source_ = {"score": ["tagger"], "protected": ["mass / 1000"]}
        named.save(tmp_path / "named")
        us.load(tmp_path / "named").save(tmp_path / "again")
        assert us.load(tmp_path / "again").source_ == named.source_

    @pytest.mark.slow
    def test_numbers_from_numpy_are_fine_as_parameters(self, quick, events, tmp_path):
        flow = quick(events.score, events.protected, seed=np.int64(4), members=np.int32(2))
        flow.save(tmp_path / "model")
        assert us.load(tmp_path / "model").seed == 4

    def test_a_parameter_changed_after_the_fit_does_not_break_the_file(
        self, rough, events, tmp_path
    ):
        before = rough.transform(events.score, events.protected)
        copy.copy(rough).set_params(members=5, recipe="paper").save(tmp_path / "model")
        after = us.load(tmp_path / "model").transform(events.score, events.protected)
        assert before.tobytes() == after.tobytes()


class TestMetadata:
    def test_it_has_version_parameters_names_and_ranges(self, rough, path, events):
        found = metadata(path)
        assert found["version"] == us.__version__
        assert found["format"] == FORMAT
        assert found["kind"] == "FlowDecorrelator"
        assert found["parameters"]["seed"] == 4
        assert found["protected"][0]["name"] == "protected"
        assert found["protected"][0]["range"] == [events.protected.min(), events.protected.max()]
        assert found["scores"][0]["range"] == [events.score.min(), events.score.max()]


class TestBadFiles:
    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"there is no model file .*nothing"):
            us.load(tmp_path / "nothing")

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
    def test_a_truncated_file(self, path, share):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ValueError, match="not a whole unsculpt model file"):
            us.load(path)

    @pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.999])
    def test_a_flipped_bit(self, path, place):
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] ^= 1
        path.write_bytes(content)
        with pytest.raises(ValueError, match="corrupt model file: its checksum"):
            us.load(path)

    def test_changed_metadata(self, path):
        content = path.read_bytes()
        path.write_bytes(content.replace(b'\\"seed\\": 4', b'\\"seed\\": 5'))
        assert path.read_bytes() != content
        with pytest.raises(ValueError, match="corrupt model file: its checksum"):
            us.load(path)

    def test_a_file_of_a_version_without_checksums(self, path, rough):
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        old = {key: value for key, value in metadata(path).items() if key != "sha256"}
        save_file(arrays, path, metadata={"unsculpt": json.dumps(old)})
        with pytest.raises(ValueError, match="corrupt model file: its checksum"):
            us.load(path)
        save_file(arrays, path, metadata={"unsculpt": json.dumps(old | {"format": 1})})
        assert us.load(path).transform([0.5], [100.0]) == rough.transform([0.5], [100.0])

    def test_random_bytes(self, tmp_path):
        (tmp_path / "junk").write_bytes(np.random.default_rng(0).bytes(10_000))
        with pytest.raises(ValueError, match="junk is not a whole unsculpt model file"):
            us.load(tmp_path / "junk")

    def test_a_pickle_is_not_opened(self, rough, tmp_path):
        (tmp_path / "model.pkl").write_bytes(pickle.dumps(rough))
        with pytest.raises(ValueError, match="not a whole unsculpt model file"):
            us.load(tmp_path / "model.pkl")

    @pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"unsculpt": "[]"}])
    def test_somebody_elses_safetensors(self, tmp_path, metadata):
        save_file({"weight": np.ones(3)}, tmp_path / "other", metadata=metadata)
        with pytest.raises(ValueError, match="not one of unsculpt's models"):
            us.load(tmp_path / "other")

    def test_metadata_that_is_not_json(self, tmp_path):
        save_file({"weight": np.ones(3)}, tmp_path / "other", metadata={"unsculpt": "{"})
        with pytest.raises(ValueError, match="not a whole unsculpt model file"):
            us.load(tmp_path / "other")

    def test_a_newer_format(self, tmp_path):
        newer = {"kind": "FlowDecorrelator", "format": FORMAT + 1, "version": "9.0"}
        write_model(tmp_path / "new", {"x": np.ones(1)}, newer)
        with pytest.raises(ValueError, match=r"written by unsculpt 9.0 in format 3.*upgrade"):
            us.load(tmp_path / "new")

    def test_an_unknown_kind(self, tmp_path):
        write_model(tmp_path / "odd", {"x": np.ones(1)}, {"kind": "Oracle", "parameters": {}})
        with pytest.raises(ValueError, match=r"holds a 'Oracle'; this unsculpt knows .*Flow"):
            us.load(tmp_path / "odd")


class TestWriting:
    def test_nothing_but_the_file_is_left(self, path):
        assert [p.name for p in path.parent.iterdir()] == ["tagger.unsculpt"]

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, rough, path, monkeypatch):
        old = path.read_bytes()

        def full(source, target):
            raise OSError("No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            rough.save(path)
        assert path.read_bytes() == old
        assert [p.name for p in path.parent.iterdir()] == ["tagger.unsculpt"]

    def test_a_folder_that_is_not_there(self, rough, tmp_path):
        with pytest.raises(FileNotFoundError):
            rough.save(tmp_path / "no" / "such" / "model")

    def test_others_may_read_it_as_any_new_file(self, path):
        other = path.parent / "plain"
        other.write_bytes(b"")
        assert path.stat().st_mode == other.stat().st_mode

    def test_a_string_for_a_path(self, rough, tmp_path):
        rough.save(str(tmp_path / "model"))
        assert us.load(str(tmp_path / "model")).get_params()["seed"] == 4


class TestEstimator:
    def test_set_params(self):
        flow = FlowDecorrelator().set_params(members=3, seed=7)
        assert (flow.members, flow.seed) == (3, 7)
        with pytest.raises(ValueError, match="Invalid parameter"):
            flow.set_params(alpha=1)

    @pytest.mark.parametrize(
        "call",
        [
            lambda flow: flow.inverse_transform([0.5], [80.0]),
            lambda flow: flow.threshold(0.1, [80.0]),
            lambda flow: flow.log_prob([0.5], [80.0]),
            lambda flow: flow.sample([80.0]),
            lambda flow: flow.uncertainty([0.5], [80.0]),
        ],
        ids=["inverse", "threshold", "log_prob", "sample", "uncertainty"],
    )
    def test_unfitted(self, call):
        with pytest.raises(NotFittedError):
            call(FlowDecorrelator())


def test_arrays_in_another_byte_order_come_back(tmp_path):
    numbers = np.arange(5.0)
    write_model(tmp_path / "m", {"x": numbers.astype(">f8")}, {"kind": "any"})
    arrays, _ = read_model(tmp_path / "m")
    np.testing.assert_array_equal(arrays["x"], numbers)
