"""What fraction of Pythia's own speed does the generator reach?

Alternates, in one process, between a bare ``next()`` loop and the whole chain from the same Pythia
to the substructure of the selected jets, so that both see the same machine at the same time.
"""

import argparse
from time import perf_counter

import numpy as np

from unsculpt.datasets.generator.detector import Detector
from unsculpt.datasets.generator.events import Events
from unsculpt.datasets.generator.parts import BATCH
from unsculpt.datasets.generator.processes import PROCESSES
from unsculpt.datasets.generator.selection import select
from unsculpt.datasets.generator.substructure import variables_of_jets


def main(rounds: int) -> None:
    rng = np.random.default_rng(0)
    for name, process in PROCESSES.items():
        events = Events(process, seed=1)
        bare, whole, jets = [], [], 0
        variables_of_jets(*select(events.nextBatch(BATCH), process.quarks, Detector(), rng))
        for _ in range(rounds):
            start = perf_counter()
            for _ in range(BATCH):
                events.next()
            middle = perf_counter()
            constituents, counts = select(events.nextBatch(BATCH), process.quarks, Detector(), rng)
            variables_of_jets(constituents, counts)
            bare.append(middle - start)
            whole.append(perf_counter() - middle)
            jets += len(counts)
        rate = rounds * BATCH / np.array([sum(bare), sum(whole)])
        print(
            f"{name:>4}: bare {rate[0]:.0f} events/s, generator {rate[1]:.0f} events/s "
            f"({jets / sum(whole):.0f} jets/s), ratio {rate[1] / rate[0]:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="batches of 200 events")
    main(parser.parse_args().rounds)
