"""Takes a discriminant that sculpts a spectrum and returns one that does not."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsculpt.decorrelators import *  # noqa: F403
    from unsculpt.saving import load as load

    __version__: str


def __getattr__(name: str) -> Any:
    """Import what is asked for: who only wants help should not wait a second for SciPy."""
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("unsculpt")
        return globals()[name]
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'unsculpt' has no attribute {name!r}")
    if name.isidentifier() and find_spec(f"unsculpt.{name}"):
        return import_module(f"unsculpt.{name}")
    # All models come at once, for they register themselves for `load`.
    import unsculpt.classifiers  # noqa: F401
    import unsculpt.decorrelators as decorrelators
    import unsculpt.saving as saving

    public = {key: getattr(decorrelators, key) for key in decorrelators.__all__}
    public |= {"load": saving.load}
    globals().update(public, __all__=sorted(public))
    if name not in globals():
        raise AttributeError(f"module 'unsculpt' has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
