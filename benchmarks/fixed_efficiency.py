"""What a shift flattens: fixed-efficiency neighbours and the designed decorrelated tagger.

    python benchmarks/fixed_efficiency.py

On the shipped QCD jets. The neighbours are fitted to the boosted trees of `unsculpt demo` at 5%
background efficiency, the designed tagger to τ21. Each new score is cut at several background
efficiencies; printed is the JSD between the mass of what passes and of random samples of the same
size, over that of two random samples, before and after. One is ideal.
"""

import time
import warnings

import numpy as np
from quantiles import jets, sculpting

from unsculpt import DDTDecorrelator, KNNDecorrelator
from unsculpt.datasets import load_jets

EFFICIENCIES = (0.5, 0.2, 0.05, 0.01)
SAMPLES = 20
RHO = (-5.5, -1.0)  # the jets' range


def main() -> None:
    warnings.filterwarnings("ignore", ".* is outside")  # a few jets past the last mass
    rng = np.random.default_rng(0)
    print("                efficiency", *(f"{e:10.2f}" for e in EFFICIENCIES))

    score, mass, test_score, test_mass = jets(seen=False)
    start = time.perf_counter()
    knn = KNNDecorrelator(0.05).fit(score, mass)
    fit = time.perf_counter() - start
    show("trees", test_score, test_mass, rng)
    show("trees, neighbours at 0.05", knn.transform(test_score, test_mass), test_mass, rng)
    kept = knn.transform(test_score, test_mass) >= 0
    print(f"neighbours: fit {fit:.1f} s, keeps {kept.mean():.4f} of the test jets")

    many = rng.choice(test_mass, 1_000_000)
    start = time.perf_counter()
    knn.transform(rng.choice(test_score, len(many)), many)
    print(f"a million events transformed in {time.perf_counter() - start:.2f} s")

    train, test = load_jets("train"), load_jets("test")
    (background, tau21), (test_background, test_tau21) = map(substructure, (train, test))
    ddt = DDTDecorrelator(window=RHO).fit(tau21, background)
    after = ddt.transform(test_tau21, test_background)
    # The signal has a small τ21.
    show("tau21", -test_tau21, test_background[:, 0], rng)
    show("tau21, designed", -after, test_background[:, 0], rng)
    rho = 2 * np.log(test_background[:, 0] / test_background[:, 1])
    print(f"slope of tau21 with rho {ddt.slope_[0]:.4f}; mean in fifths of rho, before and after:")
    for values in (test_tau21, after):
        fifths = np.array_split(values[np.argsort(rho)], 5)
        print("   ", *(f"{part.mean():.4f}" for part in fifths))


def substructure(jets) -> tuple[np.ndarray, np.ndarray]:
    """Mass and transverse momentum of the QCD jets, and their τ21."""
    qcd = jets.label == 0
    pt, tau21 = (jets.features[qcd, jets.names.index(name)] for name in ("pt", "tau21"))
    return np.column_stack([jets.mass[qcd], pt]).astype(float), tau21.astype(float)


def show(name: str, score: np.ndarray, mass: np.ndarray, rng: np.random.Generator) -> None:
    ratios = []
    for efficiency in EFFICIENCIES:
        passing = mass[score >= np.quantile(score, 1 - efficiency)]
        random = [
            sculpting(mass, rng.choice(mass, len(passing), replace=False), rng, 1)
            for _ in range(SAMPLES)
        ]
        ratios.append(sculpting(mass, passing, rng, SAMPLES).mean() / np.mean(random))
    print(f"{name:>26}", *(f"{ratio:10.1f}" for ratio in ratios))


if __name__ == "__main__":
    main()
