"""Which jets of the window does the generator miss?

Two shortcuts can lose some: the early veto, which is replayed here without dropping anything, and
the least momentum of the hard scattering, below which a slice is generated and compared.
"""

import argparse
from dataclasses import replace

import numpy as np

from unsculpt.datasets.generator.detector import Detector
from unsculpt.datasets.generator.events import EarlyVeto, Events
from unsculpt.datasets.generator.parts import BATCH
from unsculpt.datasets.generator.processes import PROCESSES
from unsculpt.datasets.generator.selection import select

SLICES = {"qcd": (90, 120), "w": (60, 100), "top": (50, 100)}


class Witness(EarlyVeto):
    """Remembers what it would have dropped, and drops nothing."""

    hopeless = False

    def doVetoPT(self, stage, event):  # noqa: N802
        if stage <= 3:
            self.hopeless = super().doVetoPT(stage, event)
        return False


def lost_to_the_veto(process, events):
    """Jets lost and jets found; from 200 GeV up, where nearly all of them come from."""
    harder = replace(process, hard=(*process.hard, "PhaseSpace:pTHatMin = 200"))
    generator, rng = Events(harder, seed=1, veto=Witness()), np.random.default_rng(1)
    lost = found = 0
    for _ in range(events):
        _, counts = select(generator.nextBatch(1), process.quarks, Detector(), rng)
        found += len(counts)
        lost += len(counts) * generator.veto.hopeless
    return lost, found


def jet_cross_section(process, events, *hard):
    """In pb, with its statistical error."""
    generator = Events(replace(process, hard=(*process.hard, *hard)), seed=2)
    rng, jets = np.random.default_rng(2), 0
    for _ in range(events // BATCH):
        jets += len(select(generator.nextBatch(BATCH), process.quarks, Detector(), rng)[1])
    per_jet = 1e9 * generator.infoPython().sigmaGen() / events
    return per_jet * jets, per_jet * np.sqrt(jets)


def main(names, events):
    for name in names:
        process, (low, high) = PROCESSES[name], SLICES[name]
        lost, found = lost_to_the_veto(process, events)
        print(f"{name:>4}: the veto loses {lost} of {found} jets ({lost / found:.2%})", flush=True)
        whole, _ = jet_cross_section(process, events)
        edges = f"PhaseSpace:pTHatMin = {low}", f"PhaseSpace:pTHatMax = {high}"
        missed, error = jet_cross_section(process, BATCH, *edges)
        print(
            f"      {low}-{high} GeV would add {missed / whole:.2%} ± {error / whole:.2%}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("process", nargs="*", default=list(PROCESSES))
    parser.add_argument("--events", type=int, default=4000)
    arguments = parser.parse_args()
    main(arguments.process, arguments.events)
