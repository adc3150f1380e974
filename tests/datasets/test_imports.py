import subprocess
import sys


def test_importing_waits_for_neither_generator_nor_reader():
    code = "import sys, unsculpt.datasets; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert not {"numba", "fastjet", "pythia8mc", "awkward", "pyarrow"} & set(loaded.stdout.split())
