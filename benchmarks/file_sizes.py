"""How large are the files of a model, and how long does one event take in them?

    python benchmarks/file_sizes.py [--without-networks]

Models of 20,000 events of the toys, saved and exported. The C++ header is compiled with -O2 and
called for each event on one core.
"""

import argparse
import resource
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from export import in_cpp, timed

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_correctionlib, to_cpp, to_onnx, to_working_points

EVENTS = 20_000
FOLDER = Path(tempfile.mkdtemp())


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--without-networks", action="store_true")
    quick = parser.parse_args().without_networks
    one, two = toys.tagger(EVENTS, 0, seed=1), toys.two_attributes(EVENTS, 0, seed=1)
    spline, plane = fitted(us.SplineDecorrelator(), one), fitted(us.SplineDecorrelator(), two)

    print("spline of one attribute")
    size("  model file", "m.unsculpt", spline.save)
    size("  its histogram alone", "m.unsculpt", spline.empty().partial_fit(*events(one)).save)
    size("  ONNX", "m.onnx", partial(to_onnx, spline))
    size("  C++ header", "m.hpp", partial(to_cpp, spline))
    for tolerance in (1e-2, 1e-3, 1e-4):
        write = partial(to_correctionlib, spline, tolerance=tolerance)
        size(f"  correctionlib, {tolerance:.0e}", "m.json", write)
    cuts(spline, 0.01)
    varied = spline.variations(20)
    size("  one varied map", "m.unsculpt", varied[0][0].save)
    size("  20 variations, ONNX", "m.onnx", partial(to_onnx, spline, variations=20))
    for tolerance in (1e-2, 1e-3):
        write = partial(to_correctionlib, spline, tolerance=tolerance, variations=20)
        size(f"  20 variations, correctionlib, {tolerance:.0e}", "m.json", write)

    print("spline of two attributes")
    size("  model file", "m.unsculpt", plane.save)
    size("  C++ header", "m.hpp", partial(to_cpp, plane))
    for efficiency in (0.1, 0.01):
        cuts(plane, efficiency)
    size("  one varied map", "m.unsculpt", plane.variations(20)[0][0].save)
    start = seconds_of_children()
    in_cpp(plane, FOLDER)
    print(f"  its header is compiled in {seconds_of_children() - start:.0f} s")

    print("spline of a mass and two samples, moved")
    sample = np.arange(EVENTS) % 2
    table = {"mass": one.protected, "sample": np.array(["data", "simulation"])[sample]}
    score = one.score + 0.3 * sample
    spline_of_two = us.SplineDecorrelator(categorical=["sample"]).fit(score, table)
    size("  model file", "m.unsculpt", spline_of_two.save)
    middle = float(np.median(one.protected))
    places = {
        "to a mass": {"mass": middle},
        "to data": {"sample": "data"},
        "to both": {"mass": middle, "sample": "data"},
        "to the barycentre": "barycentre",
    }
    for name, place in places.items():
        moved = us.Moved(spline_of_two, to=place)
        size(f"  {name}, ONNX", "m.onnx", partial(to_onnx, moved))
    for name, place in {"a mass": middle, "the barycentre": "barycentre"}.items():
        for tolerance in (1e-2, 5e-3):
            write = partial(to_correctionlib, us.Moved(spline, to=place), tolerance=tolerance)
            size(f"  one attribute to {name}, correctionlib, {tolerance:.0e}", "m.json", write)

    print("an event in C++, moved along one of two attributes")
    rate("spline", us.Moved(plane, to={0: 0.5}), 500_000, two.score, *two.protected.T)
    if quick:
        return
    for method in (us.FlowDecorrelator(), us.QuantileDecorrelator(continuous=True)):
        model = us.Moved(fitted(method, two), to={0: 0.5})
        rate(type(method).__name__, model, 2_000, two.score, *two.protected.T)
    print("an event in C++, three classes")
    three = toys.three_classes(EVENTS, 0, seed=1)
    for base in ("normal", "source"):
        transport = fitted(us.TransportDecorrelator(base=base), three)
        rate(f"transport to {base}", transport, 10_000, *three.score.T, three.protected)


def fitted(method, toy):
    return method.fit(*events(toy))


def events(toy):
    return toy.score, toy.protected


def size(name, file, write):
    """Print what a file takes; a file that is refused says so."""
    try:
        write(FOLDER / file)
    except ValueError as error:
        print(f"{name}: {str(error)[:70]}", flush=True)
        return
    print(f"{name}: {(FOLDER / file).stat().st_size / 1e6:.2f} MB", flush=True)


def cuts(model, efficiency):
    for ending in ("json", "json.gz"):
        write = partial(to_working_points, model, efficiencies=[efficiency])
        size(f"  the cut that keeps {efficiency:.0%}, {ending}", f"m.{ending}", write)


def seconds_of_children():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def rate(name, model, number, *columns):
    header = in_cpp(model, FOLDER)
    columns = [np.resize(column, number).astype(float) for column in columns]
    _, seconds = timed(lambda: header(*columns))
    print(f"  {name}: {seconds / number * 1e6:.2f} µs", flush=True)


if __name__ == "__main__":
    main()
