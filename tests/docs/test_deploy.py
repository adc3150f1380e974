"""The page's examples run and give what the model gives: Python, C++, and C++ in Cling."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Run the Python of the page in a folder; give that and what it defined."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("correctionlib")
    folder, names = tmp_path_factory.mktemp("deploy"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for code in blocks("python"):
            exec(code, names)
            names.setdefault("flats", []).append(names.get("flat"))
    return folder, names


def test_the_commands_write_the_same_files(page, monkeypatch):
    folder, _ = page
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.glob("*.[hjo]*")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in re.findall(r"^\$ (unsculpt .*)$", PAGE.read_text(), flags=re.MULTILINE):
        (name,) = re.findall(r"-o (\S+)", line)
        subprocess.run(line, shell=True, check=True, env=os.environ | {"PATH": path})
        assert len((folder / name).read_bytes()) == pytest.approx(len(before[name]), rel=0.01)


def test_python(page):
    _, names = page
    spline, score, mass = names["spline"], names["score"], names["mass"]
    by_correctionlib, by_onnx = (f for i, f in enumerate(names["flats"]) if i in (1, 3))
    inside = np.isfinite(by_onnx)
    assert inside.mean() > 0.99
    expected = spline.transform(score[inside], mass[inside])
    np.testing.assert_allclose(by_onnx[inside], expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(by_correctionlib[inside], expected, rtol=0, atol=1e-3)
    kept = 1 - spline.transform(names["cut"][inside], mass[inside])
    np.testing.assert_allclose(kept, 0.01, rtol=1e-2)
    given = names["answer"]({"score": [0.2], "mass": [80.0]})["flat"]
    assert given == spline.transform([0.2], [80.0]).tolist()


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_the_header(page):
    folder, _ = page
    (listing,) = (x for x in blocks("cpp") if x.startswith('#include "w-tagger.hpp"'))
    (folder / "main.cpp").write_text(listing)
    command = ["g++", "-std=c++17", "-Wall", "-Werror", "main.cpp", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["./main"], cwd=folder, check=True)


def test_what_rdataframe_would_run(page):
    cppyy = pytest.importorskip("cppyy")
    folder, names = page
    (listing,) = (x for x in blocks("cpp") if "RDataFrame" in x)
    (function,) = re.findall(r"auto flat = (\[\].*);", listing)
    cppyy.include(str(folder / "w-tagger.hpp"))
    cppyy.cppdef(
        f"""void page_flat(const std::vector<float>& tagger, const std::vector<float>& mass,
        std::vector<double>& out) {{
          for (std::size_t i = 0; i < tagger.size(); ++i)
            out.push_back({function}(tagger[i], mass[i]));
        }}"""
    )
    columns = [names[name][:500].astype(np.float32) for name in ("score", "mass")]
    vector, out = cppyy.gbl.std.vector, cppyy.gbl.std.vector["double"]()
    cppyy.gbl.page_flat(*(vector["float"](x.tolist()) for x in columns), out)
    expected = names["spline"].transform(*(x.astype(float) for x in columns))
    np.testing.assert_allclose(list(out), expected, rtol=0, atol=1e-9)
