"""The page that answers the paper claim by claim, and the file of its tables."""

from __future__ import annotations

import textwrap
from importlib.resources import files
from pathlib import Path

import numpy as np

from unsculpt.atomic import atomic_write
from unsculpt.inputs import Floats
from unsculpt.study.claims import Claim, claims
from unsculpt.study.folder import Folder
from unsculpt.study.results import RECIPES, Results, families, family

Rows = list[list[str]]

CENTRAL = "4-tradeoff-paper-flow"

CAPTIONS = {
    "1-mass": "The background's mass before any cut.",
    "2-separation-in-bins": "AUC, background rejection and signal efficiency in bins of mass, "
    "before and after the paper's flow. The cut is the inclusive one at half of the signal.",
    "3-before-and-after": "Left: the background's mass after that cut; right: the scores in "
    "slices of mass.",
    "4-tradeoff-paper-flow": "Rejection against sculpting, with the paper's flow: inclusive and "
    "between 70 and 100 GeV. Open circles are classifiers, filled ones have a flow on top; bands "
    "run from the lowest to the highest of all trainings; the grey band is what random selections "
    "reach.",
    "4-tradeoff-ours": "The central figure with our splines.",
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
    """Write the page of a run, and its tables in a file beside it.

    Args:
        output: the folder of a run with its figures.
        page: where to write; `reproduction.md` in the folder if not given. The tables go to the
            same name with `-tables` at its end.
        images: the folder of the figures as seen from the page.

    Returns:
        Where the page is.
    """
    run = Folder.open(Path(output))
    path = Path(page) if page else run.path / "reproduction.md"
    beside = path.with_stem(f"{path.stem}-tables")
    drawn = [name for name in CAPTIONS if (run.path / "figures" / f"{name}.png").exists()]
    figures = {
        name: f"![{name}]({images}/{name}.png)\n\n" + _wrap(f"*{CAPTIONS[name]}*") for name in drawn
    }
    parts = [
        "# The paper, reproduced",
        *_introduction(run),
        "## What the paper says, and what we find",
        "\n".join(_answer(claim) for claim in claims(run.results)),
        "## The central figure",
        *(figure for name, figure in figures.items() if name == CENTRAL),
        f"[All numbers of this study]({beside.name}) are in a file of their own.",
        "## The other figures",
        *(figure for name, figure in figures.items() if name != CENTRAL),
        (files("unsculpt.study") / "method.md").read_text().strip(),
    ]
    _write(beside, ["# The numbers of the study", *tables(run.results)])
    _write(path, parts)
    return path


def _write(path: Path, parts: list[str]) -> None:
    with atomic_write(path) as draft:
        draft.write_text("\n\n".join(parts) + "\n")


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _answer(claim: Claim) -> str:
    verdict = claim.verdict.strip("*")
    return _wrap(f"- **{verdict.capitalize()}.** *{claim.says}* {claim.found}", "  ")


def _introduction(run: Folder) -> list[str]:
    train, test = run.jets.train, run.jets.test
    paragraphs = [
        "S. Klein and T. Golling, *Decorrelation with Conditional Normalizing Flows* "
        "([arXiv:2211.02486](https://arxiv.org/abs/2211.02486)), done again by "
        f"`unsculpt reproduce --preset {run.preset.name}`, which writes this page."
        + (f" **This is {run.preset.note}.**" if run.preset.note else ""),
        f"Classifiers are trained {run.preset.seeds} times on {np.sum(train.label == 1):,} W and "
        f"{np.sum(train.label == 0):,} QCD jets, flows and splines on the same QCD jets, as in the "
        f"paper. All are judged on {np.sum(test.label == 1):,} W and "
        f"{np.sum(test.label == 0):,} other QCD jets at half of the signal: *R50* is the "
        "background rejection, *1/JSD50* says how little the cut sculpts the mass, *ideal* is what "
        "random selections of the same size reach.",
    ]
    return [_wrap(paragraph) for paragraph in paragraphs]


def tables(results: Results) -> list[str]:
    """Return the tables of the study as Markdown."""
    out = [
        _wrap(
            "Means over trainings; in brackets the lowest and the highest. *Ideal* depends on the "
            "number of test jets: on the original ones, of which there are five times as many, "
            "1/JSD is higher for that reason alone. 50 bins from 50 to 300 GeV (*window*: 70 to "
            "100), natural logarithm. A few sparse bins decide 1/JSD. *Chi2* is that per bin of "
            "the same share passing at every mass, in bins merged until each expects 25 passing "
            "jets; it is 1 for a random selection."
        )
    ]
    titles = ["decorrelation", "R50", "1/JSD50", "ideal", "ratio", "ratio, window", "chi2"]
    for name in (*families(results), "published DisCo"):
        rows = [
            row
            for decorrelation in ("none", *RECIPES)
            for row in _family_rows(results, name, decorrelation)
        ]
        if rows:
            out += [f"## {name}", _table(["strength", *titles], rows)]
    out += ["## Areas under the curve", _table(["", "AUC", "expected AUC"], _auc_rows(results))]
    methods = results.where(step="methods")
    if methods:
        rows = []
        for name in dict.fromkeys(methods.column("decorrelation")):
            chosen = methods.where(decorrelation=name)
            ratio = np.array(chosen.column("inverse_jsd50")) / np.array(chosen.column("ideal"))
            seconds = f"{min(chosen.column('seconds')):.2g}"
            chi2 = _short(float(np.mean(chosen.column("chi2_merged"))))
            rows.append([str(name), _range(ratio), chi2, seconds, _range(chosen.column("r50"))])
        out += [
            "## Every method",
            _wrap(
                "Each on its own on the scores of the vDNN, with the time of a fit on the machine "
                "that wrote this page."
            ),
            _table(["method", "ratio to ideal", "chi2", "fit, s", "R50"], rows),
        ]
    hunts = results.where(step="search")
    if hunts:
        columns = ("spurious", "expected", "claimed")
        out += [
            "## A search for a bump",
            _wrap(
                "In a fifth of the test background, with so much signal that it is one standard "
                "deviation without a tagger. *Spurious* is the mean significance found without "
                "signal, *expected* that with signal, by a fit to the sidebands; *claimed* is what "
                "pyBumpHunter makes of the expected background alone."
            ),
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
    r50, jsd, ideal, chi2 = (rows.grid(c) for c in ("r50", "inverse_jsd50", "ideal", "chi2_merged"))
    ratio, window = rows.ratio(), rows.ratio(end="_window")
    return [
        [
            f"{alpha:g}" if name not in ("vDNN", "DNN (cf-inputs)") else "",
            decorrelation,
            _range(r50[i]),
            *(_short(column[i].mean()) for column in (jsd, ideal)),
            _range(ratio[i]),
            *(_short(column[i].mean()) for column in (window, chi2)),
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
    return f"{_short(numbers.mean())} ({_short(numbers.min())}–{_short(numbers.max())})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _table(titles: list[str], rows: Rows) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
