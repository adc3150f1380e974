"""Is it the method, or the jets and trainings at hand? The main grid of the study with others.

    unsculpt generate fresh.parquet --qcd 100000 --w 0 --seed 2026
    python benchmarks/fresh_jets.py fresh.parquet

All scores of the study are judged on the same test jets, so what these happen to be does not
average out. Here six trainings of each classifier that are not in the study are judged on
the QCD jets of a file as well, and on both together, with the W jets of the package. For a GPU.
"""

import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq

from unsculpt.datasets import VARIABLES, load_jets
from unsculpt.study.claims import error_of_difference, mean_difference
from unsculpt.study.evaluation import evaluate_all
from unsculpt.study.families import train_family
from unsculpt.study.presets import PRESETS
from unsculpt.study.results import RECIPES, Results, families, family
from unsculpt.study.sample import Splits, few_outside
from unsculpt.study.steps import decorrelate
from unsculpt.study.tasks import trainings

TRAININGS = 6
FIRST_SEED = PRESETS["paper"].seeds  # the study has those before
PRESET = replace(PRESETS["paper"], seeds=TRAININGS)


def main(path: str) -> None:
    train, test = load_jets("train"), load_jets("test")
    table = pq.read_table(path, filters=[("process", "==", 0)])
    fresh = {
        "features": np.stack([table[name].to_numpy() for name in VARIABLES], axis=1),
        "mass": table["mass"].to_numpy(),
        "label": table["process"].to_numpy(),
        "weight": np.ones(len(table), np.float32),
    }
    both = replace(test, **{k: np.concatenate([getattr(test, k), v]) for k, v in fresh.items()})
    shipped = np.arange(len(both)) < len(test)
    samples = {
        "shipped": shipped,
        "fresh": ~shipped | (both.label == 1),
        "both": np.ones_like(shipped),
    }

    jets, classifiers, fit, scores = Splits(train, both, ""), [], [], []
    for task in trainings(PRESET, ""):
        if task.step == "classifier" and task.family != "published DisCo":
            settings = [(alpha, FIRST_SEED + seed) for _, alpha, seed in task.models]
            of_family = train_family(task.family, settings, task.epochs, jets, *task.options)
            classifiers += [(task.family, *setting) for setting in settings]
            fit.append(of_family[0])
            scores.append(of_family[1])

    rows = {sample: [] for sample in samples}
    for recipe in RECIPES:
        mass, every = train.mass[train.label == 0], np.concatenate(scores)
        with few_outside():
            flat = decorrelate(recipe, PRESET.epochs, np.concatenate(fit), mass, every, both.mass)
        for sample, chosen in samples.items():
            judged = evaluate_all(flat[:, chosen], both.label[chosen], both.mass[chosen])
            rows[sample] += [
                {"step": recipe, "family": name, "alpha": alpha, "seed": seed, **numbers}
                for (name, alpha, seed), numbers in zip(classifiers, judged, strict=True)
            ]
    for sample, chosen in samples.items():
        print(f"{sample}, {np.sum(both.label[chosen] == 0):,} QCD jets: paper's, ours, difference")
        summarize(Results(rows[sample]))


def summarize(results: Results) -> None:
    """Print the ratio to ideal of both methods at every point."""
    pulls = []
    for name in families(results):
        both = [family(results, name, recipe) for recipe in RECIPES]
        paper, ours = (rows.ratio().mean(axis=1) for rows in both)
        errors = error_of_difference(*both)
        pulls += list((ours - paper) / errors)
        for row in zip(both[0].values("alpha"), paper, ours, ours - paper, errors, strict=True):
            print("{:16}{:4g}  {:.2f}  {:.2f}  {:+.3f} ± {:.3f}".format(name, *row))
        mean = mean_difference(*both)
        print(
            "{:20}  {:.2f}  {:.2f}  {:+.3f} ± {:.3f}".format("", paper.mean(), ours.mean(), *mean)
        )
    for recipe, whose in RECIPES.items():
        chi2 = np.mean(results.where(step=recipe).column("chi2_merged"))
        print(f"chi2 per bin with {whose}, sparse ones merged: {chi2:.2f}")
    print(f"ahead in {np.sum(np.array(pulls) > 0)} of {len(pulls)}, worst {min(pulls):+.1f} errors")


if __name__ == "__main__":
    main(sys.argv[1])
