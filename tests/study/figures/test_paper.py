"""All that `unsculpt reproduce` draws and writes, from the tiny run."""

import json
from importlib.util import find_spec

import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine
from typer.testing import CliRunner

from unsculpt.cli import app
from unsculpt.study import PRESETS, grid
from unsculpt.study.figures import paper, tradeoff

FIGURES = [
    "1-mass",
    "2-separation-in-bins",
    "3-before-and-after",
    "4-tradeoff-paper-flow",
    "4-tradeoff-ours",
    "5-cuts",
    "6-cut-spectra",
    "7-published-disco",
    "8-appendix-a-dataset",
    "8-appendix-a-likelihood-ratio",
    "ratio-to-ideal",
]
if find_spec("pyBumpHunter"):
    FIGURES += ["search"]


@pytest.fixture(scope="module")
def answer(folder, tiny):
    """What the command says when all is computed, and only to be drawn."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(PRESETS, "quick", tiny)
        monkeypatch.setattr(grid, "perform", None)
        monkeypatch.setattr(paper, "FORMATS", ("png",))
        monkeypatch.setattr(tradeoff, "RANDOM", 5)
        # Half of the time goes into where things stand, which nobody looks at.
        monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda self, figure: None)
        options = ["reproduce", "--output", str(folder), "--json"]
        result = CliRunner().invoke(app, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_all_figures_are_drawn(answer, folder):
    assert answer["figures"] == str(folder / "figures")
    sizes = {path.name: path.stat().st_size for path in (folder / "figures").iterdir()}
    assert sorted(sizes) == sorted(f"{name}.png" for name in FIGURES)
    assert all(size > 5000 for size in sizes.values())


def test_a_figure_is_a_pdf_as_well(tmp_path):
    figure = paper.mass_distribution([60, 70, 80])
    paths = paper.save([("mass", figure)], tmp_path, note="a note")
    assert [path.name for path in paths] == ["mass.pdf", "mass.png"]
    assert paths[0].read_bytes().startswith(b"%PDF")
    assert figure.get_supxlabel() == "a note"


def test_the_page_answers_every_claim(answer, folder):
    text = (folder / "reproduction.md").read_text()
    assert answer["page"] == str(folder / "reproduction.md")
    assert "preset tiny" in text  # nobody takes it for the full study
    assert text.count("- **Yes.**") + text.count("- **No.**") >= 10
    tables = (folder / "reproduction-tables.md").read_text()
    assert "(reproduction-tables.md)" in text
    assert "## DisCo" in tables
    assert max(len(line) for line in (text + tables).splitlines()) <= 100
    for name in ("vDNN", "DisCo", "MoDe", "adversary", "cf-vDNN"):
        assert name in text
    assert "nan" not in text + tables
    for name in FIGURES:
        assert f"(figures/{name}.png)" in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (folder / line.rpartition("(")[2].rstrip(")")).exists()
