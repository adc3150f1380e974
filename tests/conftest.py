"""For all tests: what was compiled is kept and shared, and memory has a limit.

XLA's compiler takes most of the time, so its programs stay in a folder that all workers, the
processes they start and the next run read. Numba's go to a folder for each worker: workers that
start side by side may break a common one, and then every import of dcor aborts.
"""

import ctypes
import gc
import os
import platform
import re
import resource
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from unsculpt import devices

COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "d"
MOST_MEMORY = 2e9  # bytes, of one worker
MORE = 1e8  # what a worker may take before it lets go of anything again
TIDY = {"above": 0.4 * MOST_MEMORY}
PEAKS = {}
LACKING = []  # tests and files that were skipped without a package
# Folders whose files share models that take long to fit.
TOGETHER = ("tests/classifiers/", "tests/decorrelators/flow/", "tests/export/", "tests/study/")
CONTRACT = "tests/decorrelators/contract/"
STATUS = Path("/proc/self/status")

# By machine: programs for one processor may not run on another.
PROGRAMS = COMPILED / "jax" / (platform.node() or "here")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PROGRAMS))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Half of the core seconds less; `XLA_FLAGS= pytest` compiles as users do. XLA aborts at a flag it
# does not know, so those that may go are for the version they were tried with.
FLAGS = "--xla_backend_optimization_level=0"
if version("jaxlib").startswith("0.10."):
    FLAGS += " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ.setdefault("XLA_FLAGS", FLAGS)

# Every thread of a fit would keep some freed memory for itself: a quarter of a worker in the end.
if sys.platform == "linux":
    M_ARENA_MAX = -8  # in malloc.h
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)

# A network is evaluated on whole chunks, and most tests have few events.
devices.CHUNK = 2**10

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER:
    os.environ["NUMBA_CACHE_DIR"] = str(COMPILED / "numba" / WORKER)
elif sum(file.stat().st_size for file in PROGRAMS.parent.rglob("*")) > 2**29:
    shutil.rmtree(PROGRAMS.parent)  # those of older code as well


def pytest_collection_finish():
    """Look no more for garbage among the modules: a look at all of them takes half a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Let go of programs and figures: a worker would end with thousands of them."""
    end_of_file = nextitem is None or nextitem.path != item.path
    if memory() > TIDY["above"] + (0 if end_of_file else MORE):
        tidy()
        # What is left is in use; only what comes on top of it is worth another look.
        TIDY["above"] = max(TIDY["above"], memory() + MORE)


def tidy():
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
    if jax := sys.modules.get("jax"):
        jax.clear_caches()  # they come back from their folder
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # or what was freed stays with the process


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep on one worker what shares fitted models: a file or folder, in the contract a kind."""
    from xdist.scheduler import LoadFileScheduling

    class ByModels(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_interrupted.py"):
                return nodeid  # long ones that share nothing
            kind = re.search(r"\[(\w+)", test) if file.startswith(CONTRACT) else None
            if kind:
                return kind[1]
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    return ByModels(config, log)


def pytest_runtest_logreport(report):
    """Note what lacks a package, so that .ci/run runs that alone once it is there."""
    if report.skipped and re.search("could not import|needs the extra", str(report.longrepr)):
        LACKING.append(report.nodeid)


pytest_collectreport = pytest_runtest_logreport


def memory():
    """Bytes that this process holds now; as many as ever where the system does not tell."""
    return status("VmRSS") if STATUS.exists() else peak_memory()


def peak_memory():
    if STATUS.exists():  # what others count here begins with the process that started this one
        return status("VmHWM")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def status(name):
    return 1024 * int(re.search(rf"{name}:\s*(\d+) kB", STATUS.read_text())[1])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    PEAKS[node.gateway.id] = getattr(node, "workeroutput", {}).get("peak_memory", 0)


def pytest_sessionfinish(session):
    if WORKER:
        session.config.workeroutput["peak_memory"] = peak_memory()
        return
    if hasattr(session.config, "cache"):  # not where it is switched off
        session.config.cache.set("unsculpt/lacking", sorted(set(LACKING)))
    if not PEAKS:
        PEAKS["peak"] = peak_memory()
    # What is slow may need more.
    ordinary = session.config.option.markexpr == "not slow"
    if ordinary and max(PEAKS.values()) > MOST_MEMORY and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    worst = max(PEAKS.values(), default=0)
    peaks = ", ".join(f"{name} {peak / 1e9:.2f} GB" for name, peak in sorted(PEAKS.items()))
    terminalreporter.write_line(f"memory: {peaks}")
    if worst > MOST_MEMORY:
        terminalreporter.write_line(f"ERROR: more than {MOST_MEMORY / 1e9:g} GB", red=True)
