"""Awkward arrays in and out, on a model whose answer is plain to see."""

import awkward as ak
import numpy as np
import pytest

import unsculpt as us
from unsculpt.lists import takes_lists


class Model:
    """Adds what is protected to the scores."""

    @takes_lists
    def transform(self, scores, protected):
        self.seen = scores, protected
        table = protected.values() if isinstance(protected, dict) else [protected]
        columns = [np.asarray(column) for column in table]
        return (np.asarray(scores).T + sum(columns)).T

    @takes_lists
    def threshold(self, efficiency, protected):
        return np.asarray(protected)[:, None] * np.asarray(efficiency)

    @takes_lists
    def fit(self, scores, protected, *, sample_weight=None):
        self.seen = scores, protected, sample_weight
        return self


MASS = ak.Array([[1.0, 2.0], [], [3.0]])
SCORE = ak.Array([[10.0, 20.0], [], [30.0]])
MET = np.array([100.0, 200.0, 300.0])


def test_flat_arrays_are_none_of_its_business():
    answer = Model().transform(ak.Array([1.0, 2.0]), ak.Array([1.0, 2.0]))
    assert isinstance(answer, np.ndarray)
    assert answer.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("scores", "protected", "expected"),
    [
        (SCORE, MASS, [[11, 22], [], [33]]),
        (SCORE, MET, [[110, 120], [], [330]]),
        (SCORE, {"mass": MASS, "met": MET}, [[111, 122], [], [333]]),
        (SCORE, ak.zip({"mass": MASS, "twice": 2 * MASS}), [[13, 26], [], [39]]),
        (SCORE[[2, 0]], MASS[[2, 0]], [[33], [11, 22]]),
        (SCORE[:, :1], MASS[:, :1], [[11], [], [33]]),
        (SCORE[:0], MASS[:0], []),
        (ak.Array([[], []]), ak.Array([[], []]), [[], []]),
        (ak.firsts(SCORE), ak.firsts(MASS), [11, None, 33]),
        (ak.firsts(SCORE), MET, [110, None, 330]),
        (MET, ak.firsts(MASS), [101, None, 303]),
        (ak.Array([[10.0, None], None, [30.0]]), MET, [[110, None], None, [330]]),
        (SCORE, ak.Array([1.0, 2.0, None]), [[11, 21], [], None]),
        (ak.Array([[[1.0], [2.0, 3.0]], []]), ak.Array([[10.0, 20.0], []]), [[[11], [22, 23]], []]),
    ],
)
def test_the_answer_has_the_lists_of_the_scores(scores, protected, expected):
    assert Model().transform(scores, protected).tolist() == expected


def test_lists_of_one_length_stay_so():
    two = ak.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]]))
    answer = Model().transform(two, np.array([10.0, 20.0]))
    assert str(answer.type) == "2 * 2 * float64"
    assert answer.tolist() == [[11, 12], [23, 24]]
    padded = ak.pad_none(SCORE, 2, clip=True)
    answer = Model().transform(padded, ak.pad_none(MASS, 2, clip=True))
    assert str(answer.type) == "3 * 2 * ?float64"
    assert answer.tolist() == [[11, 22], [None, None], [33, None]]


def test_records_of_scores_come_back_as_records():
    scores = ak.zip({"top": SCORE, "w": 2 * SCORE})
    answer = Model().transform(scores, MASS)
    assert answer.fields == ["top", "w"]
    assert answer.w.tolist() == [[21, 42], [], [63]]


def test_several_numbers_for_each_entry():
    answer = Model().threshold([0.5, 2.0], MASS)
    assert answer.tolist() == [[[0.5, 2], [1, 4]], [], [[1.5, 6]]]


def test_text_of_the_event_beside_its_lists():
    model = Model()
    model.fit(SCORE, {"mass": MASS, "channel": ak.Array(["ee", "mm", "em"])})
    assert model.seen[1]["channel"].tolist() == ["ee", "ee", "em"]


def test_a_fit_sees_all_entries_with_the_weights_of_their_events():
    scores, protected, weight = Model().fit(SCORE, MASS, sample_weight=MET).seen
    assert scores.tolist() == [10, 20, 30]
    assert protected.tolist() == [1, 2, 3]
    assert weight.tolist() == [100, 100, 300]


def test_folds_are_of_events_not_of_their_jets():
    random = np.random.default_rng(1)
    mass, score = (
        ak.unflatten(random.random(300), np.tile([2, 0, 1], 100)) for _ in ("mass", "score")
    )
    event = np.arange(300)
    for of_score, of_mass in ((score, mass), ({"a": score}, {"mass": mass})):
        model = us.CrossFit(us.DDTDecorrelator(), folds=2)
        flat = model.fit_transform(of_score, of_mass)
        if isinstance(of_score, dict):
            flat = flat["a"]
        again = model.fit(of_score, of_mass, event=event).transform(score, mass, event=event)
        assert ak.all(flat == again, axis=None)
        # That of the first event's fold, for both of its jets.
        own = model.models_[0].transform(np.asarray(score[0]), np.asarray(mass[0]))
        np.testing.assert_array_equal(flat[0], own)


@pytest.mark.parametrize(
    ("scores", "protected", "message"),
    [
        (SCORE, MASS[:, :1], "lists of one event differ in length between the arrays"),
        (SCORE, MET[:2], "protected has 2 events but scores has 3"),
        (MET, MASS, "protected has lists where scores has one value"),
        (SCORE, ak.Array([1.0, [2.0], 3.0]), "records or several kinds of entries"),
    ],
)
def test_lists_that_do_not_go_together(scores, protected, message):
    with pytest.raises(ValueError, match=message):
        Model().transform(scores, protected)
