import subprocess
import sys


def test_reading_data_needs_no_generator():
    code = "import sys, unsculpt.datasets; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert not {"numba", "fastjet", "pythia8mc", "awkward"} & set(loaded.stdout.split())
