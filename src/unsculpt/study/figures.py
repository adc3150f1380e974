"""Every figure of the paper, from the results on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from unsculpt.atomic import atomic_write
from unsculpt.datasets import toys
from unsculpt.datasets.toys import Toy
from unsculpt.plots import (
    appendix_a_dataset,
    appendix_a_representations,
    before_after,
    cut_scan,
    cut_spectra,
    mass_distribution,
    ratio_to_ideal,
    separation,
)
from unsculpt.plots import search as draw_search
from unsculpt.plots.cut_scan import Scan
from unsculpt.plots.ratio_to_ideal import Curve
from unsculpt.plots.search import Hunt
from unsculpt.study.cuts import REJECTIONS
from unsculpt.study.evaluation import MASS_BINS
from unsculpt.study.finished import Finished, finished
from unsculpt.study.results import Results, family
from unsculpt.study.tradeoff import COLOURS, tradeoff

METHODS = {"none": "#666666", "paper flow": "#0072B2", "our flow": "#009E73", "quantile": "#D55E00"}
TAGGERS = {
    "vDNN": "#D55E00",
    "DisCo": "#E69F00",
    "cf-vDNN": "#009E73",
    "cf-DisCo": "#0072B2",
    "random": "#666666",
}
FLOWS = ("paper flow", "our flow")


def draw(output: str | Path) -> list[Path]:
    """Draw all figures of a finished run into its folder, as PDF and PNG."""
    run = finished(Path(output))
    return save(figures(run), Path(output) / "figures", run.preset.note)


def save(figures: Iterable[tuple[str, Figure]], folder: Path, note: str = "") -> list[Path]:
    """Write figures as PDF and PNG, with a note in the corner."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures:
        if note:
            figure.supxlabel(note, x=0.01, ha="left", fontsize=7, color="0.4")
        for ending in ("pdf", "png"):
            with atomic_write(folder / f"{name}.{ending}") as draft:
                figure.savefig(
                    draft, dpi=130, metadata={"CreationDate": None} if ending == "pdf" else None
                )
            paths.append(folder / f"{name}.{ending}")
    return paths


def figures(run: Finished) -> Iterator[tuple[str, Figure]]:
    """Yield the figures by their file names, in the order of the paper."""
    test, results, toy = run.jets.test, run.results, toys.appendix_a(50_000, 50_000)
    mass = test.mass[test.label == 0]
    yield "1-mass", mass_distribution(mass, bins=MASS_BINS)
    raw, flat = (run.score(("vDNN", 0.0, 0), step) for step in ("classifier", "paper flow"))
    scores = {"vDNN": raw, "cf-vDNN": flat}
    twenty = np.linspace(50, 300, 21)
    yield "2-separation-in-bins", separation(scores, test.label, test.mass, bins=twenty)
    yield "3-before-and-after", before_after(raw, flat, test.label, test.mass)
    for recipe in FLOWS:
        yield f"4-tradeoff-{recipe.replace(' ', '-')}", tradeoff(results, mass, recipe)
    cuts = results.where(step="cuts")
    if cuts:
        yield "5-cuts", cut_figure(cuts)
        yield "6-cut-spectra", spectra_figure(run)
    yield "7-published-disco", tradeoff(results, mass, "paper flow", ("published DisCo",))
    yield "8-appendix-a-dataset", appendix_a_dataset(toy.score, toy.protected, toy.label)
    yield "8-appendix-a-likelihood-ratio", appendix_a_figure(toy)
    yield "ratio-to-ideal", ratio_figure(results)
    hunts = results.where(step="search")
    if hunts:
        yield "search", search_figure(hunts)


def cut_figure(cuts: Results) -> Figure:
    """1/JSD at fixed background rejections."""
    methods = [name for name in METHODS if cuts.where(decorrelation=name)]
    scans = {
        _on_disco(name): Scan(
            METHODS[name], cuts.where(decorrelation=name).grid("inverse_jsd", "rejection")
        )
        for name in methods
    }
    ideal = np.hstack(
        [cuts.where(decorrelation=name).grid("ideal", "rejection") for name in methods]
    )
    return cut_scan(REJECTIONS, scans, ideal)


def spectra_figure(run: Finished) -> Figure:
    """The spectra behind it."""
    arrays = run.arrays("cuts")
    spectra = {
        _on_disco(name): (colour, arrays[f"spectra {name}"])
        for name, colour in METHODS.items()
        if f"spectra {name}" in arrays
    }
    return cut_spectra(MASS_BINS, REJECTIONS, spectra, arrays["random"])


def _on_disco(method: str) -> str:
    return {
        "none": "DisCo",
        "paper flow": "cf-DisCo",
        "our flow": "cf-DisCo, our flow",
        "quantile": "qr-DisCo",
    }[method]


def ratio_figure(results: Results) -> Figure:
    """Ratio to ideal against the strength and against the number of events of the fit."""
    by_alpha: dict[str, Curve] = {}
    for name in ("DisCo", "MoDe"):
        for recipe, style in zip(FLOWS, (":", "-"), strict=True):
            rows = family(results, name, recipe)
            if rows:
                by_alpha[f"cf-{name}, {recipe}"] = (
                    COLOURS[name],
                    style,
                    rows.values("alpha"),
                    rows.ratio(),
                )
    by_size: dict[str, Curve] = {}
    for recipe, style in zip(FLOWS, (":", "-"), strict=True):
        rows = Results(
            results.where(step="sizes", decorrelation=recipe).rows
            + family(results, "vDNN", recipe).rows
        )
        if rows:
            by_size[f"cf-vDNN, {recipe}"] = (
                COLOURS["vDNN"],
                style,
                rows.values("events"),
                rows.ratio("events"),
            )
    size = "background jets to fit on"
    return ratio_to_ideal({r"strength $\alpha$": by_alpha, size: by_size}, log=(size,))


def search_figure(hunts: Results) -> Figure:
    """Fake and real bumps after each tagger."""

    def hunt(tagger: str, colour: str) -> Hunt:
        rows = sorted(hunts.where(tagger=tagger).rows, key=lambda row: row["efficiency"])
        names = ("efficiency", "spurious", "expected", "claimed")
        return Hunt(colour, *([row[name] for row in rows] for name in names))

    return draw_search({tagger: hunt(tagger, colour) for tagger, colour in TAGGERS.items()})


def appendix_a_figure(toy: Toy) -> Figure:
    """Two maps that decorrelate the background of appendix A, of which one mixes the classes."""
    ratios = {
        "$f_1$: shifted": toys.appendix_a_decorrelated(toy, mirrored=False),
        "$f_2$: shifted and mirrored": toys.appendix_a_decorrelated(toy, mirrored=True),
    }
    return appendix_a_representations(ratios, toy.label)
