"""The window of transverse momentum and mass: jets that are kept, events that can have one."""

RADIUS = 1.0
PT = (300.0, 400.0)
MASS = (50.0, 300.0)
ETA = 2.0

EARLY_SCALE = 10.0
EARLY_PT = (255.0, 455.0)
EARLY_ETA = 4.0

WINDOW = {
    "radius": RADIUS, "pt": PT, "mass": MASS, "eta": ETA,
    "early_scale": EARLY_SCALE, "early_pt": EARLY_PT, "early_eta": EARLY_ETA,
}  # fmt: skip
