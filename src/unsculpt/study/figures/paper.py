"""Every figure of the paper, from the results on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from unsculpt.atomic import atomic_write
from unsculpt.datasets import toys
from unsculpt.plots import before_after, separation
from unsculpt.plots.style import styled
from unsculpt.study.evaluation import MASS_BINS, Values
from unsculpt.study.figures.appendix_a import appendix_a_dataset, appendix_a_representations
from unsculpt.study.figures.bump_search import bump_search
from unsculpt.study.figures.cuts import cut_scan, cut_spectra
from unsculpt.study.figures.ratio_to_ideal import ratio_to_ideal
from unsculpt.study.figures.tradeoff import tradeoff
from unsculpt.study.folder import Folder
from unsculpt.study.results import RECIPES

FORMATS = ("pdf", "png")


def draw(output: str | Path) -> list[Path]:
    """Draw all figures of a finished run into its folder, as PDF and PNG."""
    run = Folder.open(Path(output))
    return save(figures(run), Path(output) / "figures", run.preset.note)


def save(figures: Iterable[tuple[str, Figure]], folder: Path, note: str = "") -> list[Path]:
    """Write figures as PDF and PNG, with a note in the corner."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures:
        if note:
            figure.supxlabel(note, x=0.01, ha="left", fontsize=7, color="0.4")
        for ending in FORMATS:
            with atomic_write(folder / f"{name}.{ending}") as draft:
                figure.savefig(
                    draft, dpi=130, metadata={"CreationDate": None} if ending == "pdf" else None
                )
            paths.append(folder / f"{name}.{ending}")
    return paths


def figures(run: Folder) -> Iterator[tuple[str, Figure]]:
    """Yield the figures by their file names, in the order of the paper."""
    test, results, toy = run.jets.test, run.results, toys.appendix_a(50_000, 50_000)
    mass = test.mass[test.label == 0]
    yield "1-mass", mass_distribution(mass)
    raw, flat = (run.score(("vDNN", 0.0, 0), step) for step in ("classifier", "paper flow"))
    scores = {"vDNN": raw, "cf-vDNN": flat}
    twenty = np.linspace(50, 300, 21)
    yield "2-separation-in-bins", separation(scores, test.label, test.mass, bins=twenty)
    yield "3-before-and-after", before_after(raw, flat, test.label, test.mass)
    for recipe in RECIPES:
        yield f"4-tradeoff-{recipe.replace(' ', '-')}", tradeoff(results, mass, recipe)
    yield "5-cuts", cut_scan(results.where(step="cuts"))
    cuts = next(task for task in run.tasks if task.step == "cuts")
    yield "6-cut-spectra", cut_spectra(run.arrays(cuts))
    yield "7-published-disco", tradeoff(results, mass, "paper flow", ("published DisCo",))
    yield "8-appendix-a-dataset", appendix_a_dataset(toy)
    yield "8-appendix-a-likelihood-ratio", appendix_a_representations(toy)
    yield "ratio-to-ideal", ratio_to_ideal(results)
    hunts = results.where(step="search")
    if hunts:
        yield "search", bump_search(hunts)


@styled
def mass_distribution(mass: Values) -> Figure:
    """Draw the density of the background's mass, before any cut."""
    density, _ = np.histogram(mass, MASS_BINS, density=True)
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    axes.stairs(density, MASS_BINS, color="#0072B2", fill=True, alpha=0.5, label="QCD")
    axes.set(xlabel="mass [GeV]", ylabel="density [1/GeV]", xlim=(MASS_BINS[0], MASS_BINS[-1]))
    axes.legend()
    return figure
