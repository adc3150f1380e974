"""How much of the study to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Preset:
    """The size of the study.

    Attributes:
        name: on every figure.
        seeds: trainings of every classifier.
        alphas: strengths of DisCo and MoDe.
        few_alphas: strengths of the adversary and of DisCo as it was published.
        epochs: of the classifiers, the paper's flows and the quantile regressors.
        published_epochs: of DisCo as it was published.
        runs: the paper's flows and quantile regressors on one classifier, for the spread over
            trainings.
        sizes: background events to fit on, to see what more of them bring.
        feature_epochs: of the flow on the input features.
        together: how many of the paper's flows are trained in one program.
        jets: of each class, to train and to test; None for all.
        toys: pseudo-experiments of the search.
    """

    name: str
    seeds: int
    alphas: tuple[float, ...]
    few_alphas: tuple[float, ...]
    epochs: int
    published_epochs: int
    runs: int
    sizes: tuple[int, ...]
    feature_epochs: int
    together: int = 400
    jets: int | None = None
    toys: int = 500

    @classmethod
    def restore(cls, fields: dict[str, Any]) -> Self:
        """Return what `dataclasses.asdict` and JSON made of one, as it was."""
        lists: dict[str, Any] = {k: tuple(v) for k, v in fields.items() if isinstance(v, list)}
        return cls(**fields | lists)

    @property
    def note(self) -> str:
        """What a figure says about the preset; nothing for the study in full."""
        if self.name == "paper":
            return ""
        return (
            f"preset {self.name}: {self.seeds} seeds, {len(self.alphas)} strengths, "
            f"{self.epochs} epochs; not the full study"
        )


PRESETS = {
    "paper": Preset(
        "paper",
        seeds=10,
        alphas=tuple(range(0, 301, 25)),
        few_alphas=(25, 100, 300),
        epochs=100,
        published_epochs=200,
        runs=10,
        sizes=(5_000, 20_000),
        feature_epochs=100,
    ),
    "quick": Preset(
        "quick",
        seeds=2,
        alphas=(0, 50, 200),
        few_alphas=(100,),
        epochs=15,
        published_epochs=20,
        runs=3,
        sizes=(5_000, 20_000),
        feature_epochs=4,
        toys=100,
    ),
}
