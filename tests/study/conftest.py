import pytest

from unsculpt.study import Preset, run, study


@pytest.fixture(scope="session")
def tiny():
    """Everything once, in arrays of few shapes: JAX compiles each."""
    return Preset(
        "tiny",
        seeds=2,
        alphas=(200.0,),
        few_alphas=(100.0,),
        epochs=1,
        published_epochs=1,
        runs=2,
        sizes=(2000,),
        feature_epochs=1,
        jets=2000,
        toys=5,
    )


@pytest.fixture(scope="session")
def folder(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "reproduction"
    run(tiny, folder)
    return folder


@pytest.fixture(scope="session")
def studied(folder):
    study(folder)
    return folder
