import ctypes
import hashlib
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_cpp

WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off"]
SLOW = [
    "tagger",
    "marked",
    "spline",
    "two_scores",
    "channels",
    "quantile",
    "quantile_spline",
    "ddt",
    "chain",
    "classes",
    "source",
    "ball",
    "cube",
]
CLING = ["tagger", "spline", "plane"]
CASES = ["knn", "simplex", *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)]


@pytest.fixture(params=["g++", "clang++"])
def compiler(request):
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param}")
    return request.param


def compiled(path, columns, outputs, compiler):
    """Return a function of columns that calls a header for each event."""
    kinds = ["text" if c.dtype.kind in "OU" else "number" for c in columns.values()]
    arguments = [
        f"const {'char* const' if kind == 'text' else 'double'}* x{i}"
        for i, kind in enumerate(kinds)
    ]
    space = re.search(r"auto flat = (\w+)::", path.read_text())[1]
    call = f"{space}::flat({', '.join(f'x{i}[k]' for i in range(len(kinds)))})"
    several = [f"out[{i} * n + k] = flat.{name};" for i, name in enumerate(outputs)]
    program = f"""#include "{path.name}"
extern "C" int run(int n, double* out, {", ".join(arguments)}) {{
  try {{
    for (int k = 0; k < n; ++k) {{
      const auto flat = {call};
      {" ".join(several) if len(outputs) > 1 else "out[k] = flat;"}
    }}
  }} catch (const std::out_of_range&) {{ return 1; }}
  return 0;
}}
"""
    source, library = path.with_suffix(".cpp"), path.with_suffix(".so")
    source.write_text(program)
    command = [compiler, "-O1", *WARNINGS, "-fPIC", "-shared", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).run

    def run(columns):
        n, given = len(next(iter(columns.values()))), []
        for column, kind in zip(columns.values(), kinds, strict=True):
            if kind == "text":
                given.append((ctypes.c_char_p * n)(*(str(x).encode() for x in column)))
            else:
                given.append(np.ascontiguousarray(column, float).ctypes.data_as(ctypes.c_void_p))
        out = np.full((len(outputs), n), np.nan)
        if function(n, out.ctypes.data_as(ctypes.c_void_p), *given):
            raise IndexError("std::out_of_range")
        return out

    return run


def header_of(case, folder, compiler="g++", **options):
    path = folder / "w-tagger.hpp"
    to_cpp(case.model, path, **options)
    n = len(case.scores)
    outputs = ["flat"] if n == 1 else [f"flat_{i}" for i in range(n)]
    return compiled(path, case.scores | case.protected, outputs, compiler)


@pytest.mark.parametrize("name", CASES)
def test_agrees_at_and_beyond_everything_special(name, request, compiler, tmp_path):
    case = request.getfixturevalue(name)
    scores, protected = case.hard_events(3_000)
    flat = header_of(case, tmp_path, compiler)(scores | protected)
    np.testing.assert_allclose(flat, case.transform(scores, protected), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tagger", "marked", "spline", "plane"])
def test_agrees_on_a_million_events(name, request, compiler, tmp_path):
    """Flow and spline; with text, with two attributes, and with NaN outside."""
    case = request.getfixturevalue(name)
    scores, protected = case.hard_events(1_000_000)
    flat = header_of(case, tmp_path, compiler)(scores | protected)
    np.testing.assert_allclose(flat, case.transform(scores, protected), rtol=0, atol=1e-9)
    assert np.isnan(flat).any() == (case.model.outside == "nan")


@pytest.mark.slow
def test_the_second_map_of_a_chain_has_atoms_where_the_first_ends(knn, compiler, tmp_path):
    """The levels of a large table were 32-bit numbers there too, and missed these atoms by 0.2."""
    rng = np.random.default_rng(1)
    columns = {"x": rng.integers(1, 4, 5_000).astype(float)}
    score = np.where(rng.uniform(size=5_000) < 0.4, 0, columns["x"] * rng.uniform(size=5_000))
    chain = us.SplineDecorrelator().then(us.SplineDecorrelator())
    model = chain.fit(score, pd.DataFrame(columns))
    case = knn._replace(model=model, scores={"score": score}, protected=columns)
    run = header_of(case, tmp_path, compiler)
    assert "-ffp-contract=off" in (tmp_path / "w-tagger.hpp").read_text()
    want = model.transform(score, pd.DataFrame(columns))
    np.testing.assert_allclose(run({"score": score} | columns)[0], want, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("to", [{"channel": "ee"}, {"mass": 90.0}, "barycentre"])
def test_moved_scores(spline, to, tmp_path):
    case = spline._replace(model=us.Moved(spline.model, to=to, amount=0.7))
    scores, protected = case.hard_events(3_000)
    moved = header_of(case, tmp_path)(scores | protected)
    # Levels are 32-bit numbers, and few events make a long way of a small one.
    np.testing.assert_allclose(moved, case.transform(scores, protected), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_variables_are_morphed(tmp_path):
    """By networks, one of which knows the variable before; the second has a spike at zero."""
    rng = np.random.default_rng(1)
    mass, sample = rng.uniform(50, 150, 3_000), rng.choice(["data", "simulation"], 3_000)
    first = rng.normal(sample == "data")
    second = np.where(rng.uniform(size=3_000) < 0.3, 0, rng.exponential(np.exp(first / 2)))
    table = pd.DataFrame({"mass": mass, "sample": sample})
    model = us.Morphing(us.FlowDecorrelator(members=2, epochs=2), {"sample": "data"})
    x = np.column_stack([first, second])
    want = model.fit(x, table).transform(x, table)
    to_cpp(model, tmp_path / "morphing.hpp")
    columns = {"x": first, "y": second, "mass": mass, "sample": sample, "random": np.zeros(3_000)}
    run = compiled(tmp_path / "morphing.hpp", columns, ["flat_0", "flat_1"], "g++")
    found, spike = run(columns).T, second == 0
    np.testing.assert_allclose(found[~spike], want[~spike], rtol=0, atol=1e-9)
    # The start of a spike is that of the other sample's, its end is beyond or within that.
    np.testing.assert_allclose(found[spike, 1], 0, atol=1e-9)
    random = np.where(spike, rng.uniform(size=3_000), 0)
    share = np.mean(run(columns | {"random": random})[1] == 0)
    assert share == pytest.approx(np.mean(want[:, 1] == 0), abs=0.02)


def test_raise_throws(knn, tmp_path):
    strict = knn.changed(outside="raise")
    run, mass = header_of(strict, tmp_path), knn.protected["protected"]
    run({"score": np.full(2, 0.5), "protected": np.array([mass.min(), mass.max()])})
    for beyond in (mass.min() - 1e-6, mass.max() + 1, np.inf, np.nan):
        with pytest.raises(IndexError):
            run({"score": np.array([0.5]), "protected": np.array([beyond])})


def test_probabilities_that_do_not_sum_to_one(simplex, tmp_path):
    run = header_of(simplex, tmp_path)
    events = {"score_0": [0.3, 0.3], "score_1": [0.2, 0.3], "score_2": [0.5, 0.5]}
    events = {name: np.array(column) for name, column in (events | {"mass": [90, 90]}).items()}
    with pytest.raises(IndexError):
        run(events)
    assert np.isfinite(run({name: column[:1] for name, column in events.items()})).all()


@pytest.mark.slow
def test_categories_that_are_none(spline, tmp_path):
    events = {"score": np.zeros(2), "mass": np.full(2, 90.0), "channel": np.array(["ee", "tt"])}
    for outside in ("clip", "raise"):
        (tmp_path / outside).mkdir()
        run = header_of(spline.changed(outside=outside), tmp_path / outside)
        with pytest.raises(IndexError):
            run(events)
    run = header_of(spline.changed(outside="nan"), tmp_path)
    assert np.isnan(run(events)).tolist() == [[False, True]]


def test_nan_stays_nan(knn, tmp_path):
    run = header_of(knn.changed(outside="clip"), tmp_path)
    flat = run({"score": np.array([np.nan, 0.5]), "protected": np.array([100.0, np.nan])})
    assert np.isnan(flat).all()


def test_fold_is_an_argument(compiler, tmp_path):
    toy = toys.smooth(600, 0, seed=1)
    model = us.CrossFit(us.KNNDecorrelator(), folds=3).fit(toy.score, toy.protected)
    to_cpp(model, tmp_path / "model.hpp")
    columns = {"score": toy.score, "protected": toy.protected, "fold": np.arange(600) % 4 - 1}
    run = compiled(tmp_path / "model.hpp", columns, ["flat"], compiler)
    want = model.transform(toy.score, toy.protected, fold=columns["fold"])
    np.testing.assert_allclose(run(columns)[0], want, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_variations_are_members_of_the_answer(compiler, tmp_path):
    toy = toys.smooth(2_000, 0, seed=1)
    model = us.SplineDecorrelator().fit(toy.score, toy.protected)
    to_cpp(model, tmp_path / "model.hpp", variations=1)
    columns = {"score": toy.score, "protected": toy.protected}
    run = compiled(tmp_path / "model.hpp", columns, ["nominal", "up_1", "down_1"], compiler)
    ((up, down),) = model.variations(1)
    want = [m.transform(toy.score, toy.protected) for m in (model, up, down)]
    np.testing.assert_allclose(run(columns), want, rtol=0, atol=1e-9)


class TestFile:
    def test_says_what_it_is_and_how_to_prepare_the_inputs(self, knn, tmp_path):
        columns = {"score": ["tagger\n"], "protected": ["jet_mass / 1000\\"]}
        model = knn.changed(source_=columns).model
        model.save(tmp_path / "model.unsculpt")
        to_cpp(model, tmp_path / "model.hpp")
        text = (tmp_path / "model.hpp").read_text()
        low, high = knn.model.attributes_.attributes[0].cdf.range
        assert hashlib.sha256((tmp_path / "model.unsculpt").read_bytes()).hexdigest() in text
        assert "auto flat = model::flat(tagger, jet_mass_1000);" in text
        assert '//   tagger: "tagger\\n"' in text
        fitted = f"fitted from {low:g} to {high:g}"
        assert f'//   jet_mass_1000: "jet_mass / 1000\\\\", {fitted}' in text
        assert "the answer is NaN" in text
        compiled(tmp_path / "model.hpp", knn.scores | knn.protected, ["flat"], "g++")

    def test_several_in_one_program(self, knn, compiler, tmp_path):
        for name in ("double", "2nd model", "a"):
            to_cpp(knn.model, tmp_path / f"{name}.hpp")
        (tmp_path / "main.cpp").write_text(
            '#include "double.hpp"\n#include "2nd model.hpp"\n#include "a.hpp"\n#include "a.hpp"\n'
            "int main() {\n"
            "  const double x = double_::flat(0.5, 100), y = x_2nd_model::flat(0.5, 100);\n"
            "  return x == y && y == a::flat(0.5, 100) ? 0 : 1;\n}\n"
        )
        program = str(tmp_path / "main")
        subprocess.run([compiler, *WARNINGS, str(tmp_path / "main.cpp"), "-o", program], check=True)
        subprocess.run([program], check=True)

    @pytest.mark.slow
    def test_odd_categories(self, compiler, tmp_path):
        rng = np.random.default_rng(1)
        odd = np.array(['a"b', "\\", "é", "??/", "%s\n"])
        table = pd.DataFrame({"mass": rng.normal(size=900), "x": rng.choice(odd, 900)})
        score = rng.normal(size=900)
        model = us.SplineDecorrelator(categorical=["x"]).fit(score, table)
        to_cpp(model, tmp_path / "model.hpp")
        columns = {"score": score, "mass": table["mass"].to_numpy(), "x": table["x"].to_numpy()}
        run = compiled(tmp_path / "model.hpp", columns, ["flat"], compiler)
        np.testing.assert_allclose(run(columns)[0], model.transform(score, table), atol=1e-9)


@pytest.mark.parametrize("name", ["knn", *(pytest.param(x, marks=pytest.mark.slow) for x in CLING)])
def test_in_cling(name, request, tmp_path):
    cppyy = pytest.importorskip("cppyy")
    case = request.getfixturevalue(name)
    to_cpp(case.model, tmp_path / f"{name}_in_cling.hpp")
    cppyy.include(str(tmp_path / f"{name}_in_cling.hpp"))
    flat = getattr(cppyy.gbl, f"{name}_in_cling").flat
    scores, protected = case.hard_events(300)
    columns = [x.tolist() for x in (scores | protected).values()]
    found = [flat(*event) for event in zip(*columns, strict=True)]
    (want,) = case.transform(scores, protected)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)
