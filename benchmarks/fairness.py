"""Parity and odds on a real table, beside fairlearn, AIF360 and EquiPy.

    pip install statsmodels fairlearn aif360 BlackBoxAuditing equipy
    python benchmarks/fairness.py            # ten splits of the people, seeds 10 to 19

The RAND Health Insurance Experiment (public domain, in statsmodels' own files): 20,186 years of
5,908 people. A classifier that is told neither age nor sex predicts who sees a doctor five times in
a year. A third of the people trains it, a third fits the remedies, a third judges them. Who only
knows groups gets four bands of age times two sexes. The best 20% are selected, except by
ThresholdOptimizer, which chooses its own share; a row of ours selects as many.

Numbers are means over splits and the errors of these means. `random` selects whole people.
"""

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score

from unsculpt import SplineDecorrelator, metrics

BANDS, FINE = [0, 15, 30, 45, 65], np.linspace(0, 65, 9)
SHARE = 0.2
NEW = pd.DataFrame({"age": [80.0], "sex": ["f"]})  # nobody is older than 64
NEW_GROUP = pd.DataFrame({"age": ["[65, 85)"], "sex": ["f"]})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=10)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    table = read()
    rows = defaultdict(list)
    for seed in range(arguments.first, arguments.first + arguments.splits):
        for name, numbers in judge(table, seed).items():
            rows[name].append(numbers)
    print(
        "| | selected | parity | parity, fine ages | opportunity | odds | AUC | accuracy | core s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        found = np.array(found)
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        cells = [
            f"{mean:.3f} ± {e:.3f}" if np.isfinite(mean) else ""
            for mean, e in zip(found.mean(axis=0)[:-1], error[:-1], strict=True)
        ]
        print(f"| {name} |", " | ".join(cells), f"| {np.median(found[:, -1]):.2f} |")
    for name, answer in new_values(table).items():
        print(f"{name}, an age of 80: {answer}")


def read() -> dict[str, np.ndarray | pd.DataFrame]:
    """Return features, labels, attributes and the number of each person."""
    import statsmodels

    folder = Path(statsmodels.__file__).parent / "datasets" / "randhie" / "src"
    years = pd.read_csv(folder / "randhie.csv").dropna(subset="educdec")
    health = ["disea", "physlm", "hlthg", "hlthf", "hlthp", "mhi", "xghindx", "tookphys"]
    rest = ["coins", "income", "educdec", "lfam", "black", "idp"]
    people = pd.DataFrame(
        {"age": years.xage.to_numpy(), "sex": np.where(years.female == 1, "f", "m")}
    )
    return {
        "X": years[health + rest].to_numpy(float),
        "y": (years.mdvis >= 5).to_numpy(),
        "people": people,
        "person": pd.factorize(years.zper)[0],
    }


def groups_of(people: pd.DataFrame) -> pd.DataFrame:
    """Return the attributes as those need them that know groups only."""
    return people.assign(age=pd.cut(people.age, BANDS, right=False).astype(str))


def in_words(groups: pd.DataFrame) -> pd.Series:
    return groups.age + " " + groups.sex


def learned(X: np.ndarray, y: np.ndarray) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0).fit(X, y)


def judge(table: dict, seed: int) -> dict[str, list[float]]:
    """Return the numbers of every method on one split of the people."""
    X, y, people, person = table.values()
    rng = np.random.default_rng(seed)
    third = rng.integers(0, 3, person.max() + 1)[person]
    learn, fit, test = (np.flatnonzero(third == i) for i in range(3))
    start = time.process_time()
    classifier = learned(X[learn], y[learn])
    training = time.process_time() - start
    score = classifier.decision_function(X)
    known, truth = people.iloc[test], y[test]
    groups = groups_of(people)
    found = {}

    def numbers(selected: np.ndarray, new: np.ndarray | None, seconds: float) -> list[float]:
        age = {"age": BANDS}
        return [
            selected.mean(),
            metrics.demographic_parity_difference(selected, known, bins=age),
            metrics.demographic_parity_difference(selected, known.age, bins=FINE),
            metrics.equal_opportunity_difference(selected, truth, known, bins=age),
            metrics.equalized_odds_difference(selected, truth, known, bins=age),
            np.nan if new is None else roc_auc_score(truth, new),
            accuracy_score(truth, selected),
            seconds,
        ]

    def take(name: str, new: np.ndarray, seconds: float, share: float = SHARE) -> None:
        cut = np.quantile(new, 1 - share)
        found[name] = numbers(new >= cut, new, seconds)

    take("score", score[test], 0.0)
    lots = rng.random((20, person.max() + 1))[:, person[test]]
    found["random"] = np.mean(
        [numbers(lot >= np.quantile(lot, 1 - SHARE), None, 0.0) for lot in lots], axis=0
    ).tolist()

    def spline(rows: np.ndarray) -> SplineDecorrelator:
        return SplineDecorrelator(categorical=["sex"]).fit(score[rows], people.iloc[rows])

    clock = Clock()
    parity = spline(fit).transform(score[test], known)
    take("decorrelated", parity, clock())
    positives = spline(fit[y[fit]]).transform(score[test], known)
    take("decorrelated, fitted on positives", positives, clock())
    negatives = spline(fit[~y[fit]]).transform(score[test], known)
    take("mean of fits on positives and negatives", (positives + negatives) / 2, clock())
    each = np.empty(len(test))
    for label in (False, True):
        here = truth == label
        model = spline(fit[y[fit] == label])
        each[here] = model.move(score[test][here], known[here], to="barycentre")
    take("a map per label, moved to the barycentre", each, clock())
    take("CorrelationRemover", *correlation_remover(X, y, people, learn, test, training))
    take("DisparateImpactRemover", *impact_remover(score[test], in_words(groups.iloc[test])))
    clock()
    equipy = equipy_fit(score[fit], groups.iloc[fit])
    take("EquiPy", equipy.transform(score[test], groups.iloc[test]), clock())
    for constraint in ("demographic_parity", "equalized_odds"):
        clock()
        optimizer = threshold_optimizer(classifier, constraint)
        optimizer.fit(X[fit], y[fit], sensitive_features=in_words(groups.iloc[fit]))
        selected = optimizer.predict(
            X[test], sensitive_features=in_words(groups.iloc[test]), random_state=seed
        )
        name = f"ThresholdOptimizer, {constraint}"
        found[name] = numbers(selected == 1, None, clock())
        ours = parity if constraint == "demographic_parity" else (positives + negatives) / 2
        take(f"ours, as many as {name}", ours, 0.0, found[name][0])
    return found


class Clock:
    """Seconds of a core since the last call."""

    def __init__(self) -> None:
        self.last = time.process_time()

    def __call__(self) -> float:
        before, self.last = self.last, time.process_time()
        return self.last - before


def correlation_remover(X, y, people, learn, test, training):
    """Return the scores of a classifier of linearly uncorrelated features, and seconds."""
    from fairlearn.preprocessing import CorrelationRemover

    clock = Clock()
    both = np.column_stack([people.age, people.sex == "m", X]).astype(float)
    remover = CorrelationRemover(sensitive_feature_ids=[0, 1]).fit(both[learn])
    classifier = learned(remover.transform(both[learn]), y[learn])
    return classifier.decision_function(remover.transform(both[test])), clock() - training


def impact_remover(score, group):
    """Return the repaired scores of these people; there is no map for others."""
    from aif360.algorithms.preprocessing import DisparateImpactRemover
    from aif360.datasets import StandardDataset

    clock = Clock()
    codes = pd.factorize(group, sort=True)[0]
    frame = pd.DataFrame({"group": codes, "score": score, "label": np.arange(len(score)) % 2})
    data = StandardDataset(frame, "label", [1], ["group"], [[0]])
    data.features[:, 0] = codes  # it makes two groups of any number
    repaired = DisparateImpactRemover(1.0, "group").fit_transform(data)
    return repaired.features[:, 1], clock()


def equipy_fit(score, groups):
    from equipy.fairness import MultiWasserstein

    model = MultiWasserstein()
    model.fit(score, groups.reset_index(drop=True))
    return model


def threshold_optimizer(classifier, constraint):
    from fairlearn.postprocessing import ThresholdOptimizer

    return ThresholdOptimizer(
        estimator=classifier,
        constraints=constraint,
        objective="balanced_accuracy_score",
        predict_method="decision_function",
        prefit=True,
    )


def new_values(table: dict) -> dict[str, str]:
    """Say what each does with somebody older than all who were known."""
    X, y, people, _ = table.values()
    classifier = learned(X, y)
    score, groups = classifier.decision_function(X), groups_of(people)
    row = X[:1]

    def ours():
        model = SplineDecorrelator(categorical=["sex"]).fit(score, people)
        return model.transform(score[:1], NEW)

    def fairlearn():
        optimizer = threshold_optimizer(classifier, "demographic_parity")
        optimizer.fit(X, y, sensitive_features=in_words(groups))
        return optimizer.predict(row, sensitive_features=in_words(NEW_GROUP))

    def equipy():
        return equipy_fit(score, groups).transform(score[:1], NEW_GROUP)

    found = {}
    for name, attempt in (("ours", ours), ("ThresholdOptimizer", fairlearn), ("EquiPy", equipy)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                answer = str(attempt())
            except Exception as error:  # what they say is the result
                answer = f"{type(error).__name__}: {error}"
        told = [str(w.message) for w in said if "outside" in str(w.message)]
        found[name] = " ".join([answer.splitlines()[0], *told])
    return found


if __name__ == "__main__":
    main()
