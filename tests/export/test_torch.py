import resource

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_torch, to_torchscript


def tensors(scores, protected):
    """Columns as tensors; text as its place in the alphabet."""
    columns = [
        np.unique(c, return_inverse=True)[1] if c.dtype.kind == "U" else c
        for c in (scores | protected).values()
    ]
    return [torch.tensor(column) for column in columns]


def run(module, columns):
    flat = module(*columns)
    return np.stack([x.detach().numpy() for x in (flat if isinstance(flat, tuple) else (flat,))])


def test_same_numbers(case):
    scores, protected = case.hard_events(3_000)
    flat = run(to_torch(case.model), tensors(scores, protected))
    expected = case.transform(scores, protected)
    np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-6)


def test_the_fold_is_an_input():
    toy, fold = toys.smooth(600, 0, seed=1), np.arange(600) % 4 - 1
    model = us.CrossFit(us.KNNDecorrelator(), folds=3).fit(toy.score, toy.protected)
    columns = [torch.tensor(column) for column in (toy.score, toy.protected, fold)]
    expected = model.transform(toy.score, toy.protected, fold=fold)
    np.testing.assert_allclose(run(to_torch(model), columns)[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["spline", "channels", pytest.param("paper", marks=pytest.mark.slow)]
)
def test_gradient_in_the_score_is_the_slope(name, request):
    case = request.getfixturevalue(name)
    columns = tensors(*({k: v[:50] for k, v in part.items()} for part in case[1:]))
    score = columns[0].clone().requires_grad_()
    module = to_torch(case.model)
    module(score, *columns[1:]).sum().backward()
    with torch.no_grad():
        up, down = (module(columns[0] + step, *columns[1:]) for step in (1e-7, -1e-7))
    slope = (up - down) / 2e-7
    # A kink between the two scores is possible for one or two of the events.
    close = torch.isclose(score.grad, slope, rtol=1e-3, atol=1e-3)
    assert close.float().mean() > 0.9
    assert (score.grad >= 0).all()


def test_a_full_disk_is_an_error(tagger, tmp_path):
    """Torch would end the process, and leave half a file behind."""
    (tmp_path / "model.pt").write_text("older")
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            to_torchscript(tagger.model, tmp_path / "model.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]
    assert (tmp_path / "model.pt").read_text() == "older"


def test_torchscript(case, tmp_path):
    columns = tensors(*case.hard_events(300))
    to_torchscript(case.model, tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt")
    columns = [column.double() for column in columns]
    np.testing.assert_array_equal(run(loaded, columns), run(to_torch(case.model), columns))


def test_classifier_and_decorrelator_are_one_module(classified):
    method, (classifier, model, features, mass) = classified
    module = to_torch(model, classifier=classifier, method=method)
    flat = module(torch.tensor(features), torch.tensor(mass))
    score = getattr(classifier, method)(features)
    expected = model.transform(score[:, 1] if score.ndim == 2 else score, mass)
    np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-7)


def test_constants_travel_with_the_module(tagger):
    module = to_torch(tagger.model)
    state = module.state_dict()
    assert state
    module.load_state_dict(state)


def test_a_missing_column_is_named(tagger):
    with pytest.raises(TypeError, match="expected score, protected; got 1"):
        to_torch(tagger.model)(torch.zeros(3))
