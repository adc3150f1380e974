from unsculpt.experiments.figures import draw


def test_all_figures_are_drawn(folder):
    names = {path.name for path in draw(folder)}
    for figure in (
        "1-mass",
        "2-separation-in-bins",
        "3-before-and-after",
        "4-tradeoff-paper-flow",
        "4-tradeoff-our-flow",
        "5-cuts",
        "6-cut-spectra",
        "7-published-disco",
        "ratio-to-ideal",
    ):
        for ending in ("pdf", "png"):
            assert f"{figure}.{ending}" in names
            assert (folder / "figures" / f"{figure}.{ending}").stat().st_size > 5000
