"""The hard processes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """One kind of jet.

    Args:
        code: Its value in the ``process`` column.
        hard: What Pythia has to be told about the hard process.
        quarks: How many quarks each heavy particle decays to; 0 when there is none.
    """

    code: int
    hard: tuple[str, ...]
    quarks: int = 0


# Radiation lifts jets into the window from hard scatterings far below it: docs/jets.md has how many
# are left out by the thresholds.
W_TO_QUARKS = ("24:onMode = off", "24:onIfAny = 1 2 3 4 5")
QCD = ("HardQCD:all = on", "PhaseSpace:pTHatMin = 120")
WW = ("WeakDoubleBoson:ffbar2WW = on", "PhaseSpace:pTHatMin = 100", *W_TO_QUARKS)
TOPS = ("Top:gg2ttbar = on", "Top:qqbar2ttbar = on", "PhaseSpace:pTHatMin = 100", *W_TO_QUARKS)

PROCESSES = {
    "qcd": Process(0, QCD),
    "w": Process(1, WW, quarks=2),
    "top": Process(2, TOPS, quarks=3),
}


def settings(process: Process) -> tuple[str, ...]:
    """All Pythia settings of a process but the seed."""
    return (
        "Beams:eCM = 13000",
        "ParticleDecays:limitTau0 = on",  # what lives longer than 10 mm reaches the calorimeter
        "Print:quiet = on",
        *process.hard,
    )
