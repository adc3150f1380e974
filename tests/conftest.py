"""For all tests: each worker compiles dcor's functions for itself.

Workers that start side by side write them to one cache, which may break it: then every import of
dcor aborts, and pytest-xdist ends with all workers down and no failure.
"""

import os
import tempfile

if "PYTEST_XDIST_WORKER" in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="numba-")
    os.environ["NUMBA_CACHE_DIR"] = CACHE.name
