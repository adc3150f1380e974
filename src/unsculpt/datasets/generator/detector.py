"""A parametric calorimeter: it stands in for a full simulation and says what it does.

A particle deposits its energy in the tower it hits. Towers see photons and electrons with the
electromagnetic resolution, other hadrons with the hadronic one; muons and neutrinos leave
nothing. There is no magnetic field, no pile-up and no tracking.
"""

from dataclasses import dataclass

import numpy as np

from unsculpt.datasets.generator.compiled import Ints
from unsculpt.inputs import Floats

INVISIBLE = (12, 13, 14, 16)  # neutrinos and muons
ELECTROMAGNETIC = (11, 22)


@dataclass(frozen=True)
class Detector:
    """The numbers of the calorimeter, about those of a general-purpose LHC experiment.

    Args:
        acceptance: Largest |pseudorapidity| of a tower.
        cells: Towers around the azimuth; towers are square, so this sets their width too.
        angle: Spread in pseudorapidity and azimuth of the impact point, radians.
        electromagnetic: Stochastic and constant terms a, b of σ(E)/E = a/√E ⊕ b.
        hadronic: The same for hadrons.
        threshold: Least transverse energy of a tower that is kept, GeV.
    """

    acceptance: float = 3.0
    cells: int = 128
    angle: float = 0.01
    electromagnetic: tuple[float, float] = (0.10, 0.01)
    hadronic: tuple[float, float] = (0.50, 0.03)
    threshold: float = 0.5

    def measure(
        self, p: Floats, pdg: Ints, event: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Ints]:
        """Turn the stable particles of many events into calorimeter towers.

        Args:
            p: Particles, shape ``(n, 4)``.
            pdg: Particle codes, shape ``(n,)``.
            event: The event each particle belongs to, ascending.
            rng: Source of the smearing.

        Returns:
            Massless towers, shape ``(m, 4)``, and the event each belongs to, ascending.
        """
        width = 2 * np.pi / self.cells
        rows = round(self.acceptance / width)  # on each side of the middle
        shift = rng.normal(0.0, self.angle, (2, len(p)))
        eta = np.arcsinh(p[:, 2] / np.hypot(p[:, 0], p[:, 1])) + shift[0]
        phi = np.arctan2(p[:, 1], p[:, 0]) + shift[1]
        row = np.floor(eta / width).astype(int) + rows
        column = np.floor(phi / width).astype(int) % self.cells
        hit = (row >= 0) & (row < 2 * rows) & ~np.isin(np.abs(pdg), INVISIBLE)
        address = ((event * 2 * rows + row) * self.cells + column)[hit]
        address, tower = np.unique(address, return_inverse=True)

        energy, electromagnetic = p[hit, 3], np.isin(np.abs(pdg[hit]), ELECTROMAGNETIC)
        measured, variance = np.zeros(len(address)), np.zeros(len(address))
        for kind, (stochastic, constant) in (
            (electromagnetic, self.electromagnetic),
            (~electromagnetic, self.hadronic),
        ):
            deposit = np.bincount(tower[kind], energy[kind], len(address))
            measured += deposit
            variance += stochastic**2 * deposit + constant**2 * deposit**2
        measured += np.sqrt(variance) * rng.standard_normal(len(address))

        place, column = np.divmod(address, self.cells)
        event, row = np.divmod(place, 2 * rows)
        eta, phi = (row - rows + 0.5) * width, (column + 0.5) * width
        et = measured / np.cosh(eta)
        towers = np.stack([et * np.cos(phi), et * np.sin(phi), et * np.sinh(eta), measured], axis=1)
        kept = et > self.threshold
        return towers[kept], event[kept]
