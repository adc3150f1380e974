"""Pythia, with a veto that drops hopeless events before they cost time."""

from typing import Any

import pythia8mc

from unsculpt.datasets.generator.processes import Process, settings
from unsculpt.datasets.generator.window import EARLY_ETA, EARLY_PT, EARLY_SCALE, RADIUS

ANTI_KT, ALL_VISIBLE, MASSES_KEPT = -1, 2, 2


class EarlyVeto(pythia8mc.UserHooks):  # type: ignore[misc]
    """Drops an event when no jet of its partons comes near the window.

    Most events with a hard scattering below the window have no jet in it, and most of the time
    an event takes goes into its soft multiparton interactions. So the evolution pauses at
    ``EARLY_SCALE`` and clusters what is there. Softer radiation seldom moves a jet by more than the
    margin: less than one in a hundred of the selected jets are lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.jets = pythia8mc.SlowJet(
            ANTI_KT, RADIUS, EARLY_PT[0], EARLY_ETA, ALL_VISIBLE, MASSES_KEPT
        )

    def canVetoPT(self) -> bool:  # noqa: N802
        """Pythia asks whether to pause."""
        return True

    def scaleVetoPT(self) -> float:  # noqa: N802
        """Pythia asks where to pause."""
        return EARLY_SCALE

    def doVetoPT(self, stage: int, event: Any) -> bool:  # noqa: N802
        """Pythia asks whether to drop the event."""
        if stage > 3:  # the decays of heavy particles radiate after the event has passed
            return False
        self.jets.analyze(event)
        return all(self.jets.pT(i) > EARLY_PT[1] for i in range(self.jets.sizeJet()))


class Events(pythia8mc.Pythia):  # type: ignore[misc]
    """A Pythia that is ready to generate.

    Args:
        process: What to generate.
        seed: From 1 to 900 million.
        veto: Which events to drop early.
    """

    def __init__(self, process: Process, seed: int, veto: EarlyVeto | None = None) -> None:
        super().__init__("", False)
        for setting in (*settings(process), "Random:setSeed = on", f"Random:seed = {seed}"):
            if not self.readString(setting):
                raise ValueError(f"Pythia does not understand {setting!r}")
        self.veto = veto or EarlyVeto()  # Pythia alone would not keep the Python object alive
        self.setUserHooksPtr(self.veto)
        if not self.init():
            raise RuntimeError(f"Pythia could not start with {process.hard}")
