"""ROOT files: TTree and RNTuple."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import pyarrow as pa
import uproot
from uproot.interpretation.identify import UnknownInterpretation
from uproot.source.file import MultithreadedFileSource

from unsculpt.files.arrays import to_awkward
from unsculpt.files.formats import INSIDE, KIND, Put
from unsculpt.files.remote import AnyPath

NTUPLE = "ROOT::RNTuple"
TREES = {"TTree", "TNtuple", "TNtupleD", NTUPLE}
COMPRESSION = uproot.ZSTD(1)


@dataclass(frozen=True)
class RootSource:
    """One tree of a file."""

    path: AnyPath
    tree: str
    kind: str
    columns: list[str]
    rows: int

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of these columns."""
        with _open(self.path) as file:
            empty = _table(file[self.tree].arrays(filter_name=_exactly(columns), entry_stop=0))
        return pa.schema(
            [empty.schema.field(name) for name in columns], {INSIDE: self.tree, KIND: self.kind}
        )

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        with _open(self.path) as file:
            tree = file[self.tree]
            for arrays in tree.iterate(filter_name=_exactly(columns), step_size=rows):
                yield _table(arrays).select(list(columns))


def source(path: AnyPath, inside: str) -> RootSource:
    """Look into a file."""
    with _open(path) as file:
        trees = {n: kind for n, kind in file.classnames(cycle=False).items() if kind in TREES}
        if not trees:
            # uproot takes the whole file for the part that it asked for.
            perhaps = "" if isinstance(path, Path) else ", or its server gives no parts of files"
            raise ValueError(f"{path} has no trees{perhaps}")
        if inside and inside not in trees:
            raise ValueError(f"{path} has no tree {inside!r}; it has {', '.join(trees)}")
        if not inside and len(trees) != 1:
            raise ValueError(
                f"{path} has {len(trees)} trees ({', '.join(trees)}); "
                f"name one after a colon, as in {path.name}:Events"
            )
        name = inside or next(iter(trees))
        tree = file[name]
        return RootSource(path, name, trees[name], _columns(tree, path), int(tree.num_entries))


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    name = inside or "Events"
    ntuple = (schema.metadata or {}).get(KIND, b"").decode() == NTUPLE
    collections = {} if ntuple else _collections(schema)

    def arrays(table: pa.Table) -> dict[str, Any]:
        columns = {name: to_awkward(table[name]) for name in schema.names}
        for counter, (group, members) in collections.items():
            del columns[counter]
            fields = {name.removeprefix(f"{group}_"): columns.pop(name) for name in members}
            columns[group] = ak.zip(fields, depth_limit=2) if members != [group] else fields[group]
        return columns

    # By a name uproot would make the folder too, which is gone once the work is interrupted.
    with open(path, "w+b") as raw, uproot.recreate(raw, compression=COMPRESSION) as file:
        try:
            empty = arrays(schema.empty_table())
            if ntuple:
                tree = file.mkrntuple(name, ak.Array(empty).layout.form)
            else:
                tree = file.mktree(name, {key: a.type.content for key, a in empty.items()})
        except (TypeError, ValueError, KeyError, NotImplementedError) as error:
            raise ValueError(f"ROOT cannot hold these columns: {error}") from None
        yield lambda table: tree.extend(ak.Array(arrays(table)) if ntuple else arrays(table))


def _open(path: AnyPath) -> Any:
    """Open a file once: by itself uproot asks for the name at each read, whatever is there then."""
    if not isinstance(path, Path):
        return uproot.open({str(path): None})  # its own way with URLs gathers what it reads
    return uproot.open(path, handler=MultithreadedFileSource)


def _collections(schema: pa.Schema) -> dict[str, tuple[str, list[str]]]:
    """Return which lists each counter counts: nJet the Jet_pt and Jet_mass, njets the jets.

    uproot writes a counter for each list, or one for the lists of a record.
    """
    lists = [field.name for field in schema if _is_list(field.type)]
    found = {}
    counters = (field.name for field in schema if pa.types.is_integer(field.type))
    # The longest first: nJet_part counts the Jet_part_pt that begin like those of nJet.
    for counter in sorted((n for n in counters if n.startswith("n")), key=len, reverse=True):
        group = counter[1:]
        members = [n for n in lists if n == group or n.startswith(f"{group}_")]
        if group in members:
            members = [group]
        if members:
            found[counter] = group, members
            lists = [name for name in lists if name not in members]
    return found


def _table(arrays: Any) -> pa.Table:
    return pa.table(
        {name: ak.to_arrow(arrays[name], extensionarray=False) for name in arrays.fields}
    )


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _exactly(columns: Sequence[str]) -> Any:
    wanted = set(columns)
    return lambda name: name in wanted


def _columns(tree: Any, path: AnyPath) -> list[str]:
    """Return the branches that hold numbers, text or lists of them, and warn of others."""
    if hasattr(tree, "branches"):
        leaves = [branch for branch in tree.itervalues() if not branch.branches]
        unknown = [b.name for b in leaves if isinstance(b.interpretation, UnknownInterpretation)]
        if unknown:
            warnings.warn(
                f"{path}: left out what uproot cannot read: {', '.join(unknown)}", stacklevel=2
            )
        return [branch.name for branch in leaves if branch.name not in unknown]
    return list(tree.keys(recursive=False))
