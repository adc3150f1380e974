"""The page that answers the paper, claim by claim, from the results."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from unsculpt.atomic import atomic_write
from unsculpt.inputs import Floats
from unsculpt.study.claims import claims
from unsculpt.study.folder import Folder
from unsculpt.study.results import RECIPES, Results, families, family

Rows = list[list[str]]

CAPTIONS = {
    "1-mass": "The background's mass before any cut.",
    "2-separation-in-bins": "AUC, background rejection and signal efficiency in bins of mass, "
    "before and after the paper's flow. The cut is the inclusive one at half of the signal.",
    "3-before-and-after": "Left: the background's mass after that cut; right: the scores in "
    "slices of mass.",
    "4-tradeoff-paper-flow": "The central figure, with the paper's flow: inclusive and between 70 "
    "and 100 GeV. Open circles are classifiers, filled ones have a flow on top; bands run from the "
    "lowest to the highest of all trainings; the grey band is what random selections reach.",
    "4-tradeoff-ours": "The same with our splines.",
    "5-cuts": "One DisCo classifier (strength 200) at harder cuts, after flows, our splines and "
    "quantile regression; bars run from the lowest to the highest of all trainings on the same "
    "classifier, each beside a random sample of its own. The classifier itself and our splines are "
    "one score beside as many samples.",
    "6-cut-spectra": "The spectra behind it, over the range of random selections.",
    "7-published-disco": "DisCo as its authors trained it.",
    "8-appendix-a-dataset": "The dummy dataset of appendix A.",
    "8-appendix-a-likelihood-ratio": "Its two decorrelated representations and what they keep.",
    "ratio-to-ideal": "How close to ideal: against the strength of the explicit decorrelation, "
    "and against the number of background jets of the fit.",
    "search": "A search for a bump after cuts on each tagger.",
}


def write_page(output: str | Path, page: str | Path | None = None, images: str = "figures") -> Path:
    """Write the page, and the tables beside the results as Markdown.

    Args:
        output: the folder of a run with its figures.
        page: where to write; `reproduction.md` in the folder if not given.
        images: the folder of the figures as seen from the page.
    """
    run = Folder.open(Path(output))
    path = Path(page) if page else run.path / "reproduction.md"
    drawn = [name for name in CAPTIONS if (run.path / "figures" / f"{name}.png").exists()]
    parts = [
        "# The paper, reproduced",
        _introduction(run),
        "## What the paper says, and what we find",
        _table(
            ["claim of the paper", "here", "agrees"],
            [[claim.says, claim.found, claim.verdict] for claim in claims(run.results)],
        ),
        "## Tables",
        *tables(run.results),
        "## Figures",
        *(f"![{CAPTIONS[name]}]({images}/{name}.png)\n\n*{CAPTIONS[name]}*" for name in drawn),
        (files("unsculpt.study") / "method.md").read_text().strip(),
    ]
    with atomic_write(path) as draft:
        draft.write_text("\n\n".join(parts) + "\n")
    return path


def _introduction(run: Folder) -> str:
    train, test = run.jets.train, run.jets.test
    note = f" **This is {run.preset.note}.**" if run.preset.note else ""
    return (
        "S. Klein and T. Golling, *Decorrelation with Conditional Normalizing Flows* "
        "([arXiv:2211.02486](https://arxiv.org/abs/2211.02486)), done again by "
        f"`unsculpt reproduce --preset {run.preset.name}`; this page is written by that command."
        f"{note}\n\n"
        f"Classifiers are trained on {np.sum(train.label == 1):,} W and "
        f"{np.sum(train.label == 0):,} QCD jets, flows and splines on the same QCD jets, as in the "
        f"paper, and all are judged on {np.sum(test.label == 1):,} W and "
        f"{np.sum(test.label == 0):,} other QCD jets. Every classifier is trained "
        f"{run.preset.seeds} times. The number of test jets limits 1/JSD: *ideal* is what random "
        "selections of the same size reach on the same jets, and numbers on the original jets, of "
        "which there are five times as many, are higher for that reason alone. 50 bins from 50 to "
        "300 GeV (or 70 to 100), natural logarithm. On 1/JSD a few sparse bins decide; *chi2 per "
        "bin* asks whether the same share of background passes at every mass, in bins merged until "
        "each expects 25 passing jets, and is 1 for a random selection."
    )


def tables(results: Results) -> list[str]:
    """Return the tables of the study as Markdown."""
    out = [
        "Mean over trainings; in brackets the lowest and the highest.",
        _table(
            [
                "",
                "strength",
                "decorrelation",
                "R50",
                "1/JSD50",
                "ideal",
                "ratio",
                "ratio, 70 to 100 GeV",
                "chi2 per bin",
            ],
            [
                row
                for name in (*families(results), "published DisCo")
                for decorrelation in ("none", *RECIPES)
                for row in _family_rows(results, name, decorrelation)
            ],
        ),
        _table(["", "AUC", "expected AUC"], _auc_rows(results)),
    ]
    methods = results.where(step="methods")
    if methods:
        rows = []
        for name in dict.fromkeys(methods.column("decorrelation")):
            chosen = methods.where(decorrelation=name)
            ratio = np.array(chosen.column("inverse_jsd50")) / np.array(chosen.column("ideal"))
            seconds = f"{min(chosen.column('seconds')):.2g}"
            chi2, r50 = (_range(chosen.column(c)) for c in ("chi2_merged", "r50"))
            rows.append([str(name), _range(ratio), chi2, seconds, r50])
        out += [
            "Which method when: each on its own on the scores of the vDNN, with the time of a fit "
            "on the machine that wrote this page.",
            _table(["method", "ratio to ideal", "chi2 per bin", "fit, s", "R50"], rows),
        ]
    hunts = results.where(step="search")
    if hunts:
        columns = ("spurious", "expected", "claimed")
        out += [
            "The end of the chain: a search for a bump in a fifth of the test background, with so "
            "much signal that it is one standard deviation without a tagger. *Spurious* is the "
            "mean significance found without signal, *expected* that with signal, by a fit to the "
            "sidebands; *claimed* is what pyBumpHunter makes of the expected background alone.",
            _table(
                ["tagger", "signal efficiency", *columns],
                [
                    [row["tagger"], f"{row['efficiency']:.0%}", *(f"{row[c]:.2f}" for c in columns)]
                    for row in hunts.rows
                ],
            ),
        ]
    return out


def _family_rows(results: Results, name: str, decorrelation: str) -> Rows:
    rows = family(results, name, decorrelation)
    if not rows:
        return []
    columns = [rows.grid(c) for c in ("r50", "inverse_jsd50", "ideal")]
    columns += [rows.ratio(), rows.ratio(end="_window"), rows.grid("chi2_merged")]
    return [
        [
            name,
            f"{alpha:g}" if name not in ("vDNN", "DNN (cf-inputs)") else "",
            decorrelation,
            *(_range(column[i]) for column in columns[:2]),
            f"{columns[2][i].mean():,.0f}",
            *(_range(column[i]) for column in columns[3:]),
        ]
        for i, alpha in enumerate(rows.values("alpha"))
    ]


def _auc_rows(results: Results) -> Rows:
    out = []
    for decorrelation, label in zip(
        ("none", *RECIPES), ("vDNN", "cf-vDNN", "vDNN, our splines"), strict=True
    ):
        rows = family(results, "vDNN", decorrelation)
        out.append([label, *(f"{rows.grid(c).mean():.3f}" for c in ("auc", "expected_auc"))])
    return out


def _range(values: Floats | list[float]) -> str:
    numbers = np.asarray(values, float)
    return f"{_short(numbers.mean())} ({_short(numbers.min())} to {_short(numbers.max())})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _table(titles: list[str], rows: Rows) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
