"""Does it matter whether the classifier has seen the background that the flow is fitted on?

    python benchmarks/unseen_background.py

Boosted trees on the shipped jets, as in `unsculpt demo`, trained on all of the training QCD jets or
on half of them; the flow is fitted on those, on the other half, or on the validation jets. Of the
test background a fraction 0.1 should get a flat score above 0.9, and 0.01 above 0.99.
"""

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from unsculpt import FlowDecorrelator, metrics
from unsculpt.datasets import Jets, load_jets

SMALL_TREES = {"max_leaf_nodes": 8, "min_samples_leaf": 200}
BINS = np.linspace(50, 300, 51)


def main() -> None:
    warnings.filterwarnings("ignore", "protected is outside")  # a few jets past the last mass
    train, val = load_jets("train"), load_jets("val")
    qcd = np.flatnonzero(train.label == 0)
    half, other_half = np.array_split(qcd, 2)
    everything = np.arange(len(train))
    print("trees   learned from  flow on   R50  1/JSD50        ideal    AUC   >0.9   >0.99")
    for trees, options in {"default": {}, "small": SMALL_TREES}.items():
        tagger = HistGradientBoostingClassifier(random_state=0, **options)
        with threadpool_limits(1):
            tagger.fit(train.features, train.label)
            judge(f"{trees:7} all QCD       those", tagger, train, qcd)
            judge(f"{trees:7} all QCD       val  ", tagger, val, val.label == 0)
            seen = np.delete(everything, other_half)
            tagger.fit(train.features[seen], train.label[seen])
            judge(f"{trees:7} half of QCD   those", tagger, train, half)
            judge(f"{trees:7} half of QCD   other", tagger, train, other_half)


def judge(
    name: str, tagger: HistGradientBoostingClassifier, jets: Jets, fit_on: np.ndarray
) -> None:
    flow = FlowDecorrelator(seed=0)
    flow.fit(tagger.predict_proba(jets.features[fit_on])[:, 1], jets.mass[fit_on])
    test = load_jets("test")
    flat = flow.transform(tagger.predict_proba(test.features)[:, 1], test.mass)
    events = (flat, test.label, test.mass)
    ideal = metrics.ideal_inverse_jsd(*events, bins=BINS)
    above = [np.mean(flat[test.label == 0] > level) for level in (0.9, 0.99)]
    print(
        f"{name}  {metrics.rejection(flat, test.label):6.1f} "
        f"{metrics.inverse_jsd(*events, bins=BINS):8.0f} {ideal.mean:6.0f} ± {ideal.spread:3.0f} "
        f"{metrics.auc(flat, test.label):6.3f} {above[0]:.4f} {above[1]:.4f}"
    )


if __name__ == "__main__":
    main()
