"""The pages and the benchmarks name files and modules that exist."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "RESULTS.md"]
SCRIPTS = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/**/*.py")]
FILES = [path.as_posix() for path in ROOT.glob("[sbtd]*/**/*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_of_a_page(page):
    named = re.findall(r"[\w/.-]+\.py\b", page.read_text())
    assert not [name for name in named if not any(f.endswith(f"/{name}") for f in FILES)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_of_a_page(page):
    for name in set(re.findall(r"`(unsculpt(?:\.\w+)+)`", page.read_text())):
        found = import_module("unsculpt")
        for part in name.split(".")[1:]:
            if not hasattr(found, part):
                import_module(f"{found.__name__}.{part}")
            found = getattr(found, part)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_imports_of_a_script(script):
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unsculpt"):
            try:
                home = import_module(node.module)
            except ModuleNotFoundError as missing:
                if str(missing.name).startswith("unsculpt"):
                    raise
                pytest.skip(f"{missing.name}, an extra, is not installed")
            for name in node.names:
                if not hasattr(home, name.name):
                    import_module(f"{node.module}.{name.name}")
