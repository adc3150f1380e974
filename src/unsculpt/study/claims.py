"""The claims of the paper, each with what the results say about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unsculpt.inputs import Floats
from unsculpt.study.evaluation import jackknife
from unsculpt.study.results import RECIPES, Results, families, family


class Claim(NamedTuple):
    """What the paper says, what was found, and whether they agree."""

    says: str
    found: str
    verdict: str


def claims(results: Results) -> list[Claim]:
    """Hold every claim against the table of results."""
    return [
        _same_separation(results),
        _lower_inclusive_auc(results),
        _flow_always_helps(results, "paper flow"),
        _flow_always_helps(results, "ours"),
        _approaches_ideal(results),
        _window(results),
        _strength_helps(results, "paper flow"),
        _strength_helps(results, "ours"),
        _easier(results),
        _inputs(results),
        _cuts(results),
        *_ours(results),
    ]


def _verdict(agrees: bool) -> str:
    return "yes" if agrees else "**no**"


def _whose(recipe: str) -> str:
    return "the paper's recipe" if recipe == "paper flow" else "our splines in its place"


def _mean(results: Results, column: str) -> float:
    return float(np.mean(results.column(column)))


def _same_separation(results: Results) -> Claim:
    raw, flat = (_mean(family(results, "vDNN", d), "expected_auc") for d in ("none", "paper flow"))
    return Claim(
        "At fixed mass the flow leaves the separation alone: the expected AUC is 0.84 for the vDNN "
        "and for cf-vDNN.",
        f"{raw:.3f} and {flat:.3f}: other jets, same statement. A flow is monotone at every mass; "
        "what differs is within the 20 bins.",
        _verdict(abs(raw - flat) < 0.01),
    )


def _lower_inclusive_auc(results: Results) -> Claim:
    raw, flat = (_mean(family(results, "vDNN", d), "auc") for d in ("none", "paper flow"))
    return Claim(
        "The inclusive AUC falls, from 0.90 to 0.84, as the mass no longer helps.",
        f"From {raw:.3f} to {flat:.3f}.",
        _verdict(flat < raw),
    )


def _flow_always_helps(results: Results, recipe: str) -> Claim:
    worse, points = [], 0
    for name in families(results):
        before = family(results, name, "none").grid("inverse_jsd50").mean(axis=1)
        after = family(results, name, recipe)
        gains = after.grid("inverse_jsd50").mean(axis=1) / before
        points += len(gains)
        worse += [
            f"{name} at {alpha:g} (a factor {gain:.2f})"
            for alpha, gain in zip(after.values("alpha"), gains, strict=True)
            if gain <= 1
        ]
    return Claim(
        f"The flow lowers the sculpting of every classifier (here: {_whose(recipe)}).",
        f"The mean 1/JSD50 rises in {points - len(worse)} of {points} points"
        + (f"; it falls for {', '.join(worse)}." if worse else "."),
        _verdict(not worse),
    )


def _approaches_ideal(results: Results) -> Claim:
    parts, reached = [], True
    for name in ("DisCo", "MoDe"):
        for recipe, whose in RECIPES.items():
            rows = family(results, name, recipe)
            ratio = rows.ratio().mean(axis=1)
            best = int(np.argmax(ratio))
            parts.append(f"{name} with {whose} {ratio[best]:.2f} at {rows.values('alpha')[best]:g}")
            # Random selections scatter by about a fifth.
            reached &= bool(ratio[best] > 0.8)
    return Claim(
        "cf-DisCo and cf-MoDe approach the ideal limit (here: with our splines too).",
        f"Largest ratio to ideal: {'; '.join(parts)}. A fit learns from as many jets as it has: "
        "see the figure against their number.",
        _verdict(reached),
    )


def _window(results: Results) -> Claim:
    raw, flat = (_mean(family(results, "vDNN", d), "r50_window") for d in ("none", "paper flow"))
    inclusive = [_mean(family(results, "vDNN", d), "r50") for d in ("none", "paper flow")]
    return Claim(
        "The inclusive rejection falls and the rejection around the signal rises.",
        f"vDNN to cf-vDNN: R50 from {inclusive[0]:.1f} to {inclusive[1]:.1f}; between 70 and 100 "
        f"GeV from {raw:.1f} to {flat:.1f}.",
        _verdict(flat > raw and inclusive[1] < inclusive[0]),
    )


def _strength_helps(results: Results, recipe: str) -> Claim:
    parts, better = [], True
    for name in ("DisCo", "MoDe"):
        ratio = family(results, name, recipe).ratio().mean(axis=1)
        best = ratio[1:].max(initial=0)
        parts.append(f"{name} {ratio[0]:.2f}, {best:.2f}")
        better &= bool(best > ratio[0])
    return Claim(
        "Explicit decorrelation in training helps the flow: alpha > 0 is closer to ideal "
        f"(here: {_whose(recipe)}).",
        f"Ratio to ideal without, and with the best strength: {'; '.join(parts)}.",
        _verdict(better),
    )


def _easier(results: Results) -> Claim:
    vdnn = float(family(results, "vDNN", "paper flow").ratio().mean())
    others = {
        name: float(family(results, name, "paper flow").ratio()[0].mean())
        for name in ("DisCo", "MoDe")
    }
    return Claim(
        "The plain vDNN is easier to decorrelate than the Swish networks without decorrelation.",
        f"Ratio to ideal with the paper's flow: vDNN {vdnn:.2f}, "
        + ", ".join(f"{name} at lowest strength {ratio:.2f}" for name, ratio in others.items())
        + ".",
        _verdict(all(vdnn > ratio for ratio in others.values())),
    )


def _inputs(results: Results) -> Claim:
    before, after = (family(results, "DNN (cf-inputs)", d) for d in ("none", "paper flow"))
    ratio = [float(rows.ratio().mean()) for rows in (before, after)]
    rejection = [
        _mean(rows, "r50") for rows in (before, after, family(results, "vDNN", "paper flow"))
    ]
    return Claim(
        "A DNN on decorrelated inputs still sculpts, and a second flow improves it; it rejects "
        "less than a decorrelated DNN.",
        f"Ratio to ideal {ratio[0]:.2f}, with a second flow {ratio[1]:.2f}; R50 "
        f"{rejection[0]:.1f} and {rejection[1]:.1f}, cf-vDNN {rejection[2]:.1f}.",
        _verdict(ratio[1] > ratio[0] and rejection[1] < rejection[2]),
    )


def _cuts(results: Results) -> Claim:
    hardest = results.where(step="cuts", rejection=0.99)
    raw = _mean(hardest.where(decorrelation="none"), "inverse_jsd")
    others = {
        name: _mean(hardest.where(decorrelation=step), "inverse_jsd")
        for step, name in (RECIPES | {"quantile": "quantile regression"}).items()
    }
    return Claim(
        "At harder cuts flow and quantile regression keep DisCo flat (here: our splines too).",
        f"At 99% rejection 1/JSD is {raw:.0f} for DisCo, "
        + ", ".join(f"{value:.0f} with {name}" for name, value in others.items())
        + f"; random selections reach {_mean(hardest, 'ideal'):.0f}.",
        _verdict(all(value > raw for value in others.values())),
    )


def _ours(results: Results) -> list[Claim]:
    enough, parts, means, points, names, errors = True, [], [], [], [], []
    for name in families(results):
        both = [family(results, name, recipe) for recipe in RECIPES]
        paper, ours = (rows.ratio().mean(axis=1) for rows in both)
        points.append([paper, ours])
        alphas = both[0].values("alpha")
        names += [f"{name} at {alpha:g}" for alpha in alphas] if len(alphas) > 1 else [name]
        errors.append(error_of_difference(*both))
        means.append("{} {:+.2f} ± {:.2f}".format(name, *mean_difference(*both)))
        if name in ("DisCo", "MoDe"):
            enough &= bool(ours[0] >= paper.max())
            parts.append(f"{name} {ours[0]:.2f}, {paper.max():.2f}")
    paper, ours = np.concatenate(points, axis=1)
    return [
        Claim(
            "Better training of the flow may make explicit decorrelation unnecessary (here: our "
            "splines in its place).",
            "Ratio to ideal of ours without it, and of the paper's flow at the best strength: "
            f"{'; '.join(parts)}.",
            _verdict(enough),
        ),
        _nowhere_behind(names, paper, ours, np.concatenate(errors), means),
        _same_share_passes(results),
    ]


def _nowhere_behind(
    names: list[str], paper: Floats, ours: Floats, errors: Floats, means: list[str]
) -> Claim:
    """Hold our splines against the paper's flow at every point, to twice the error.

    That is strict: of 31 points of two equal methods one is beyond it by chance in half of studies.
    """
    difference = ours - paper
    pulls = difference / errors
    worst = int(np.argmin(pulls))
    return Claim(
        "(Not in the paper: are our splines at every point at least as close to ideal as its flow, "
        "within twice the error of the difference?)",
        f"They are closer in {np.sum(difference > 0)} of {len(names)} points, and behind by more "
        f"than twice the error in {np.sum(pulls < -2)}. The worst is {names[worst]}, "
        f"{difference[worst]:+.2f} ± {errors[worst]:.2f}, which is {pulls[worst]:+.1f} errors. "
        f"Mean differences: {', '.join(means)}. The errors are those of the trainings and of the "
        f"test jets, not of the jets of the fit. Mean of all points: {ours.mean():.2f}, the "
        f"paper's {paper.mean():.2f}.",
        _verdict(pulls[worst] > -2),
    )


def _same_share_passes(results: Results) -> Claim:
    """Hold our splines against the paper's flow over the grid, where no sparse bin decides."""
    grids = [[family(results, n, recipe) for n in families(results)] for recipe in RECIPES]
    paper, ours = (np.vstack([rows.grid("chi2_merged") for rows in grid]) for grid in grids)
    ratios = [np.vstack([rows.ratio() for rows in grid]) for grid in grids]
    difference, error = _over_trainings(ours - paper)
    means = [
        "our splines {:.2f} ± {:.2f}, the paper's flow {:.2f} ± {:.2f}".format(
            *_over_trainings(of_ours), *_over_trainings(of_paper)
        )
        for of_paper, of_ours in ((paper, ours), ratios)
    ]
    lower = np.sum(ours.mean(axis=1) < paper.mean(axis=1))
    return Claim(
        "(Not in the paper: do our splines let the same share of background pass at every mass at "
        "least as well as its flow, with sparse bins merged?)",
        f"Mean chi2 per bin of all points, 1 for random selections: {means[0]}; the difference is "
        f"{difference:+.2f} ± {error:.2f}, and ours is the lower one in {lower} of {len(ours)} "
        f"points. Mean ratio to ideal of the same points: {means[1]}. The errors are those of the "
        "trainings alone.",
        _verdict(difference <= 2 * error),
    )


def _over_trainings(values: Floats) -> tuple[float, float]:
    """Return the mean of (points, seeds) and its error, from how seeds differ."""
    of_seeds = values.mean(axis=0)
    return float(of_seeds.mean()), float(of_seeds.std() / max(1, len(of_seeds) - 1) ** 0.5)


def error_of_difference(one: Results, other: Results) -> Floats:
    """Return the error of the difference of two mean ratios to ideal, at every strength."""
    return _error(*_differences(one, other))


def mean_difference(one: Results, other: Results) -> tuple[float, float]:
    """Return the mean difference of two ratios to ideal over all strengths, and its error.

    Trainings of one seed go wrong together, so a seed counts once.
    """
    by_seed, without = (x.mean(axis=0, keepdims=True) for x in _differences(one, other))
    return float(by_seed.mean()), float(_error(by_seed, without)[0])


def _differences(one: Results, other: Results) -> tuple[Floats, Floats]:
    """Return the differences of ratios of all trainings, and of their means without each tenth."""
    without = [
        (rows.grid("inverse_jsd50_without") / rows.grid("ideal")[..., None]).mean(axis=1)
        for rows in (one, other)
    ]
    return other.ratio() - one.ratio(), without[1] - without[0]


def _error(trainings: Floats, without: Floats) -> Floats:
    """Add what trainings and test jets cause, of every row.

    All trainings are judged on the same jets, so what these happen to be does not average out.
    """
    of_trainings = trainings.std(axis=1) / max(1, trainings.shape[1] - 1) ** 0.5
    error: Floats = np.hypot(of_trainings, jackknife(without))
    return error
