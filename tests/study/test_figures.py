from importlib.util import find_spec

from unsculpt.study.figures import draw
from unsculpt.study.page import write_page


def test_all_figures_are_drawn(studied):
    names = {path.name for path in draw(studied)}
    searched = find_spec("iminuit") and find_spec("pyBumpHunter")
    assert ("search.pdf" in names) == bool(searched)
    for figure in (
        "1-mass",
        "2-separation-in-bins",
        "3-before-and-after",
        "4-tradeoff-paper-flow",
        "4-tradeoff-our-flow",
        "5-cuts",
        "6-cut-spectra",
        "7-published-disco",
        "8-appendix-a-dataset",
        "8-appendix-a-likelihood-ratio",
        "ratio-to-ideal",
    ):
        for ending in ("pdf", "png"):
            assert f"{figure}.{ending}" in names
            assert (studied / "figures" / f"{figure}.{ending}").stat().st_size > 5000


def test_the_page_answers_every_claim(studied):
    text = write_page(studied).read_text()
    assert "preset tiny" in text  # nobody takes it for the full study
    assert text.count("| yes |") + text.count("| **no** |") >= 10
    for name in ("vDNN", "DisCo", "MoDe", "adversary", "cf-vDNN"):
        assert name in text
    assert "nan" not in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (studied / line.rpartition("(")[2].rstrip(")")).exists()
