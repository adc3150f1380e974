"""The page in a real browser, without a network."""

import json
import re
import shutil
import subprocess
from tempfile import TemporaryDirectory

import pytest

from unsculpt import metrics
from unsculpt.plots.axis import Axis

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

# Runs before the page's own script, and after it moves the slider as a hand would.
EARLY = """<script>
window.failures = [];
addEventListener("error", (event) => failures.push(event.message));
addEventListener("load", () => {
  const slider = document.getElementById("slider");
  const look = () => ({
    percent: document.getElementById("chosen").textContent,
    spoken: slider.getAttribute("aria-valuetext"),
    curves: [...document.querySelectorAll("path.after")].map((path) => path.getAttribute("d")),
    numbers: [...document.querySelectorAll("#readout tbody tr")].map(
      (row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)),
    rows: document.querySelectorAll("#contents tbody tr").length,
  });
  const cut = (percent) => {
    slider.value = percent;
    slider.dispatchEvent(new Event("input"));
  };
  // How far up its pane, of 210 pixels below the 24th, the highest spectrum of background goes.
  const reach = () => {
    const paths = document.querySelectorAll(
      "path.before:nth-of-type(1), path.after[data-of=background]");
    const heights = [...paths].flatMap((path) => path.getAttribute("d").match(/[0-9.]+/g)
      .filter((_, i) => i % 2).map(Number));
    return (234 - Math.min(...heights)) / 210;
  };
  const before = look();
  const reached = [1, 2, 5, 10, 50, 99].map((percent) => { cut(percent); return reach(); });
  cut(20);
  const probe = document.createElement("pre");
  probe.id = "probe";
  const fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  probe.textContent = JSON.stringify({ before, after: look(), reached, failures, fetched });
  document.body.append(probe);
});
</script>"""


def browse(*options):
    with TemporaryDirectory() as profile:
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        quiet += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        command = [CHROMIUM, *quiet, f"--user-data-dir={profile}", "--enable-logging=stderr"]
        return subprocess.run([*command, *options], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def seen(written, tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "probe.html"
    text = written[0].read_text(encoding="utf-8").replace("<head>", "<head>" + EARLY, 1)
    path.write_text(text, encoding="utf-8")
    result = browse("--dump-dom", path.as_uri())
    assert "CONSOLE" not in result.stderr
    probe = re.search(r'<pre id="probe">(.*?)</pre>', result.stdout, re.DOTALL)
    assert probe, result.stderr
    return json.loads(probe[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def test_opens_without_an_error_and_fetches_nothing(seen):
    assert seen["failures"] == []
    assert [name for name in seen["fetched"] if not name.startswith("data:")] == []


def test_the_slider_moves_all_four_curves(seen):
    before, after = seen["before"], seen["after"]
    assert (before["percent"], after["percent"]) == ("50%", "20%")
    assert after["spoken"] == "20% of the signal passes"
    assert len(before["curves"]) == len(after["curves"]) == 4
    for old, new in zip(before["curves"], after["curves"], strict=True):
        assert old.startswith("M")
        assert "NaN" not in old + new
        assert old != new
    assert before["rows"] == 50


def test_the_spectra_fill_their_pane_at_loose_and_tight_cuts(seen):
    assert all(0.55 < reach < 1 for reach in seen["reached"]), seen["reached"]


@pytest.mark.parametrize(("state", "efficiency"), [("before", 0.5), ("after", 0.2)])
def test_the_numbers_beside_the_slider_are_the_metrics(seen, toy, weight, state, efficiency):
    edges = Axis.from_events(toy.protected, toy.label, 50, "mass").edges
    flat = toy.cdf(toy.score, toy.protected)
    cut = {"efficiency": efficiency, "sample_weight": weight}
    for score, row in zip((toy.score, flat), seen[state]["numbers"], strict=True):
        kept, rejection, inverse, ideal = (
            [float(x.replace(",", "").rstrip("%")) for x in cell.split(" ± ")] for cell in row[1:]
        )
        events, settings = (score, toy.label, toy.protected), {"bins": edges, **cut}
        drawn = metrics.ideal_inverse_jsd(*events, **settings)
        for (value, error), metric, args, its in (
            (rejection, metrics.rejection, events[:2], cut),
            (inverse, metrics.inverse_jsd, events, settings),
        ):
            expected = metrics.bootstrap(metric, *args, repeats=100, **its)
            assert value == pytest.approx(expected.value, abs=0.06 * error)
            # A rough error: here the cut stays, there it moves with the signal.
            assert 0.4 < 2 * error / (expected.high - expected.low) < 2.5
        assert kept[0] / 100 == pytest.approx(1 / rejection[0], rel=0.01)
        assert ideal[0] == pytest.approx(drawn.mean, rel=0.5)
        assert ideal[1] == pytest.approx(drawn.spread, rel=0.5)


PHONE = """<iframe src="{page}" style="width: 390px; height: 800px"></iframe><pre id="probe"></pre>
<script>onload = () => {{
  const inside = document.querySelector("iframe").contentDocument;
  const widths = [...inside.querySelectorAll("section, h1, p, .drawing, .scroll")]
    .map((part) => part.getBoundingClientRect().right);
  document.getElementById("probe").textContent = Math.max(...widths);
}}</script>"""


def test_on_a_phone_nothing_is_beside_the_page(written, tmp_path):
    """Figures and tables that are wider scroll by themselves."""
    (tmp_path / "phone.html").write_text(PHONE.format(page=written[0].as_uri()))
    answer = browse(
        "--allow-file-access-from-files", "--dump-dom", (tmp_path / "phone.html").as_uri()
    )
    right = re.search(r'<pre id="probe">([0-9.]+)</pre>', answer.stdout)
    assert right, answer.stderr
    assert 300 < float(right[1]) <= 390


def test_prints(written, tmp_path):
    file = tmp_path / "report.pdf"
    browse(f"--print-to-pdf={file}", written[0].as_uri())
    assert file.read_bytes().startswith(b"%PDF")
