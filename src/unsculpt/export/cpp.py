"""C++: a header that needs nothing but the standard library."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from unsculpt.atomic import atomic_write
from unsculpt.decorrelators import Chain
from unsculpt.export.cpp_steps import Steps, word
from unsculpt.export.program import graph_of, identifier
from unsculpt.saving import checksum

OUTSIDE = {
    "raise": "std::out_of_range is thrown",
    "nan": "the answer is NaN",
    "clip": "the nearest fitted value stands in; a category that is not one throws",
}
ROUNDING = """
// Compile it with -ffp-contract=off: what one map gives may be an atom of the next one, which is
// met to the last bit."""


def to_cpp(model: Any, path: str | os.PathLike[str], *, variations: int = 0) -> None:
    """Write `model.transform` as a header of C++17 that needs the standard library alone.

    `w-tagger.hpp` has a function `w_tagger::flat` of one event: the scores and the attributes, in
    the order that a comment in it gives, with how each is computed. It returns the new score; if
    there are several, or variations, a structure that has each by its name. Several such headers
    can be part of one program.

    Beyond the fitted range the model's policy holds; "raise" throws `std::out_of_range`, and so
    does "clip" for a category that was not in the fit. NaN gives NaN.

    A chain has to be compiled with `-ffp-contract=off`, as its maps meet atoms to the last bit, and
    nothing with `-ffast-math`, which knows no NaN.

    Tables, which is what one attribute and splines of two make, take some tens of nanoseconds an
    event. Networks are written out whole.

    Args:
        model: as in `to_onnx`.
        path: the file to write; its name becomes that of the namespace.
        variations: pairs of the model's variations to return too: `nominal`, `up_1`, `down_1`, ...

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> with TemporaryDirectory() as folder:
    ...     to_cpp(spline, f"{folder}/flat.hpp")
    """
    graph = graph_of(model, variations=variations)
    steps, sha = Steps(graph), checksum(model)
    name = Path(path).name
    space, of_model = word(identifier(Path(path).stem)), f"model_{sha[:12]}"
    several = len(graph.outputs) > 1
    members = "".join(f"\n  double {output};" for output in graph.outputs)
    results = ", ".join(steps.item(output) for output in graph.outputs)
    header = Template((Path(__file__).parent / "templates" / "header.hpp").read_text())
    content = header.substitute(
        name=name.encode("ascii", "replace").decode(),
        origin=f"A {type(model).__name__}, written by unsculpt {version('unsculpt')}."
        + (ROUNDING if isinstance(model, Chain) else ""),
        sha=sha,
        call=f"auto flat = {space}::flat({', '.join(steps.arguments)});",
        inputs="\n".join(
            f"//   {argument}: {description.words}"
            for argument, description in zip(steps.arguments, graph.inputs.values(), strict=True)
        ),
        outside=OUTSIDE[_outside(model)],
        guard=f"UNSCULPT_{space}_{sha[:12]}_HPP".upper(),
        space=space,
        # Two models of one name are two to the linker, and an ambiguity to the compiler.
        of_model=of_model,
        constants="\n".join(steps.constants()),
        answer=f"\nstruct Flat {{{members}\n}};\n" if several else "",
        type="Flat" if several else "double",
        arguments=", ".join(f"{kind} {name}" for name, kind in steps.arguments.items()),
        steps="\n".join(f"  {line}" for line in steps.lines()),
        result=f"{{{results}}}" if several else results,
    )
    with atomic_write(path) as draft:
        draft.write_text(content)


def _outside(model: Any) -> str:
    """Return the policy of a model; a chain has that of its strictest step."""
    steps = model.steps if isinstance(model, Chain) else [model]
    policies = [getattr(step, "outside", None) for step in steps]
    return next(policy for policy in OUTSIDE if policy in policies or policy == "clip")
