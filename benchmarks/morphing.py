"""Is simulation that was morphed to data distributed like data? A toy of known truth.

    python benchmarks/morphing.py

Two variables know the transverse momentum and each other, by another rule in each sample; the
second has a spike at zero. A flow of two members learns from 20,000 events of each sample. Others
judge it: the AUC of boosted trees that are to tell simulation from data, the share of the spike,
the correlation, and how far the first variable is from its closed form.
"""

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import unsculpt as us
from unsculpt.inputs import Columns

EVENTS = 20_000


def main() -> None:
    warnings.filterwarnings("ignore")
    samples = [draw(seed, sample) for seed, sample in enumerate(("data", "simulation"), start=1)]
    variables = np.vstack([events for events, _ in samples])
    names = samples[0][1]
    table = Columns({name: np.concatenate([kind[name] for _, kind in samples]) for name in names})
    morphing = us.Morphing(us.FlowDecorrelator(members=2), {"sample": "data"}).fit(variables, table)

    (data, _), (simulation, table) = draw(3, "data"), draw(4, "simulation")
    morphed = morphing.transform(simulation, table)
    for name, events in (("data", data), ("simulation", simulation), ("morphed", morphed)):
        spike, correlation = np.mean(events[:, 1] == 0), np.corrcoef(events.T)[0, 1]
        apart = told_apart(data, events) if name != "data" else np.nan
        print(f"{name}: AUC {apart:.3f}, spike {spike:.3f}, correlation {correlation:.3f}")
    middle = (table["pt"] - 60) / 40
    truth = middle + 0.3 + 1.2 * (simulation[:, 0] - middle)
    print(f"off from the closed form: {np.abs(morphed[:, 0] - truth).mean():.3f}")


def draw(seed, sample):
    """Return two variables, and the momentum and the sample of their events."""
    rng, data = np.random.default_rng(seed), sample == "data"
    pt = rng.uniform(20, 100, EVENTS)
    first = rng.normal((pt - 60) / 40 + 0.3 * data, 1 + 0.2 * data)
    hidden = rng.normal((0.8 if data else 0.3) * first)
    spike = hidden < 0.4 * data
    second = np.where(spike, 0, 0.1 + (1 + 0.2 * data) * np.abs(hidden))
    return np.column_stack([first, second]), Columns(pt=pt, sample=np.full(EVENTS, sample))


def told_apart(first, second):
    """Return the AUC of a classifier that is to tell two samples apart."""
    x, y = np.vstack([first, second]), np.repeat([0, 1], [len(first), len(second)])
    learn, test = np.array_split(np.random.default_rng(0).permutation(len(x)), 2)
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(x[learn], y[learn])
    return roc_auc_score(y[test], model.predict_proba(x[test])[:, 1])


if __name__ == "__main__":
    main()
