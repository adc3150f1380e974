"""From Pythia events to the constituents of selected jets."""

from dataclasses import dataclass
from typing import Any

import awkward as ak
import fastjet
import numpy as np
from numpy.typing import NDArray

from unsculpt.datasets.generator.compiled import Ints
from unsculpt.datasets.generator.detector import Detector
from unsculpt.datasets.generator.window import ETA, MASS, PT, RADIUS
from unsculpt.inputs import Floats

NEUTRINOS = (12, 14, 16)

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Particles:
    """The event records of a batch, flattened."""

    p: Floats
    pdg: Ints
    status: Ints
    mother: Ints
    event: Ints

    @classmethod
    def from_batch(cls, batch: Any) -> "Particles":
        """Read what ``Pythia.nextBatch`` returned."""
        record = batch.prt
        count = ak.num(record).to_numpy()
        start = np.cumsum(count) - count

        def flat(values: Any) -> NDArray[Any]:
            return ak.flatten(values).to_numpy()  # type: ignore[no-any-return]

        return cls(
            p=np.stack([flat(record.p[axis]) for axis in ("px", "py", "pz", "e")], axis=1),
            pdg=flat(record.id),
            status=flat(record.status),
            mother=flat(record.mother1) + np.repeat(start, count),
            event=np.repeat(np.arange(len(count)), count),
        )


def eta_phi(p: Floats) -> tuple[Floats, Floats]:
    """Pseudorapidity and azimuth."""
    return np.arcsinh(p[..., 2] / np.hypot(p[..., 0], p[..., 1])), np.arctan2(p[..., 1], p[..., 0])


def cluster(p: Floats, event: Ints, events: int) -> tuple[Floats, Ints, Floats, Ints]:
    """Anti-kt jets in the window of transverse momentum, pseudorapidity and mass.

    Returns:
        Jets ``(n, 4)``, the event of each, their constituents one after the other, and how
        many constituents each jet has.
    """
    count = np.bincount(event, minlength=events)
    columns = dict(zip(("px", "py", "pz", "E"), p.T, strict=True))
    towers = ak.unflatten(ak.zip(columns, with_name="Momentum4D"), count)
    definition = fastjet.JetDefinition(fastjet.antikt_algorithm, RADIUS)
    sequence = fastjet.ClusterSequence(towers, definition)
    found = sequence.inclusive_jets(min_pt=PT[0])
    members = sequence.constituent_index(min_pt=PT[0])
    members = ak.flatten(members + (np.cumsum(count) - count))

    jets = np.stack([ak.flatten(found[axis]).to_numpy() for axis in columns], axis=1)
    home = np.repeat(np.arange(events), ak.num(found).to_numpy())
    pt = np.hypot(jets[:, 0], jets[:, 1])
    mass2 = jets[:, 3] ** 2 - (jets[:, :3] ** 2).sum(axis=1)
    inside = (pt <= PT[1]) & (MASS[0] ** 2 <= mass2) & (mass2 <= MASS[1] ** 2)
    inside &= np.abs(eta_phi(jets)[0]) < ETA
    members = members[inside]
    return jets[inside], home[inside], p[ak.flatten(members).to_numpy()], ak.num(members).to_numpy()


def contains_decay(jets: Floats, home: Ints, particles: Particles, quarks: int) -> Bools:
    """Whether all quarks of one W (``quarks=2``) or top (``quarks=3``) are within the radius."""
    parent = particles.pdg[particles.mother]
    product = (particles.status == -23) & np.isin(np.abs(parent), (6, 24))
    charge = np.sign(parent[product])
    order = np.lexsort((charge, particles.event[product]))
    eta, phi = eta_phi(particles.p[product][order].reshape(-1, 2, quarks, 4)[home])
    jet_eta, jet_phi = (angle[:, None, None] for angle in eta_phi(jets))
    azimuth = np.abs((phi - jet_phi + np.pi) % (2 * np.pi) - np.pi)
    inside: Bools = np.hypot(eta - jet_eta, azimuth) < RADIUS
    contained: Bools = np.any(np.all(inside, axis=2), axis=1)
    return contained


def select(
    batch: Any, quarks: int, detector: Detector | None, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Constituents of the selected jets of a batch, one jet after the other, and their counts.

    Args:
        batch: Events from ``Pythia.nextBatch``.
        quarks: How many decay quarks a jet has to contain; 0 for any jet.
        detector: The calorimeter; without one the jets are made of visible particles.
        rng: Source of the detector's smearing.
    """
    particles = Particles.from_batch(batch)
    aside = np.hypot(particles.p[:, 0], particles.p[:, 1]) > 0  # a beam remnant may have no angle
    stable = (particles.status > 0) & aside
    p, pdg, event = particles.p[stable], particles.pdg[stable], particles.event[stable]
    if detector is None:
        visible = ~np.isin(np.abs(pdg), NEUTRINOS)
        p, event = p[visible], event[visible]
    else:
        p, event = detector.measure(p, pdg, event, rng)
    jets, home, constituents, counts = cluster(p, event, len(batch))
    if quarks:
        kept = contains_decay(jets, home, particles, quarks)
        constituents, counts = constituents[np.repeat(kept, counts)], counts[kept]
    return constituents, counts
