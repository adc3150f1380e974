import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from unsculpt import devices

# Lines fitted by 1, 2, 3 and 4 members, in batches that devices may share or not.
LINES = """
import json, jax, jax.numpy as jnp, numpy as np, equinox as eqx
from unsculpt.fitting import fit

class Line(eqx.Module):
    slope: jax.Array
    offset: jax.Array

def squares(line, batch, weight, setting):
    x, y = batch
    return (weight * (y - line.slope * x - line.offset) ** 2).mean()

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, 1100).astype("f4")
y = 2 * x + rng.normal(0, 0.3, 1100).astype("f4")
found = {}
for members in (1, 2, 3, 4):
    for can_split_batches in (False, True)[: 1 + (members < 3)]:  # with more it does not matter
        fitted = fit(
            Line(jnp.zeros(members), jnp.zeros(members)), squares, (x, y), epochs=5,
            batch_size=256, learning_rate=0.1, seed=1, can_split_batches=can_split_batches,
            validation=0.1, keep="best",
        )
        name = f"{members} {can_split_batches}"
        found[name] = [*fitted.model.slope.tolist(), *fitted.train_loss[-1]]
print(json.dumps({"devices": len(jax.devices()), "found": found}))
"""


def run(code, **environment):
    quick = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | quick | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return out.stdout


@pytest.mark.slow
def test_shared_out_or_not_the_fit_is_the_same():
    one, four = (json.loads(run(LINES, JAX_NUM_CPU_DEVICES=n)) for n in ("1", "4"))
    assert (one["devices"], four["devices"]) == (1, 4)
    for name, expected in one["found"].items():
        np.testing.assert_allclose(four["found"][name], expected, rtol=1e-4, err_msg=name)


# Stops after the cores became devices.
FIT = """
import jax, numpy as np, unsculpt as us
from unsculpt.decorrelators.flow import ensemble

cores_as_devices = ensemble.cores_as_devices

def stop():
    cores_as_devices()
    print(len(jax.devices("cpu")))
    raise SystemExit

ensemble.cores_as_devices = stop
rng = np.random.default_rng(0)
us.FlowDecorrelator(members=1, epochs=1).fit(rng.normal(size=50), rng.uniform(size=50))
"""


@pytest.mark.slow
def test_every_core_is_a_device_from_the_first_fit_unless_jax_runs_already():
    expected = min(devices.cores(), devices.MOST_DEVICES)
    assert int(run(FIT)) == expected
    assert int(run("import jax; jax.devices('cpu')" + FIT)) == 1
    assert int(run(FIT, XLA_FLAGS="--xla_force_host_platform_device_count=3")) == 3


def test_importing_changes_nothing_of_jax():
    """Not even the modules with networks in them start it or count its devices."""
    code = """
import jax, pkgutil, importlib, unsculpt
before = dict(jax.config.values)
for package in ("flows", "fitting", "penalties", "classifiers", "decorrelators"):
    home = importlib.import_module(f"unsculpt.{package}")
    for module in pkgutil.walk_packages(home.__path__, home.__name__ + "."):
        importlib.import_module(module.name)
assert dict(jax.config.values) == before
jax.config.update("jax_num_cpu_devices", 3)  # an error if it is running
print(len(jax.devices("cpu")))
"""
    assert int(run(code)) == 3


@pytest.mark.parametrize(
    ("count", "members", "batch_size", "can_split_batches", "shape"),
    [
        (2, 8, 1024, True, (2, 1)),  # each core takes half the members
        (2, 1, 256, True, (1, 2)),  # one member: the cores share its batches
        (2, 1, 256, False, (1, 1)),  # which a loss of all pairs of events does not allow
        (2, 1, 255, True, (1, 1)),  # nor does an odd batch
        (2, 1, 64, True, (1, 1)),  # and a small one does not pay
        (8, 6, 1024, True, (6, 1)),
        (8, 7, 1024, True, (7, 1)),
        (8, 9, 1024, True, (3, 2)),
        (8, 130, 1024, True, (5, 1)),
        (1, 5, 1024, True, (1, 1)),
    ],
)
def test_who_gets_what(monkeypatch, count, members, batch_size, can_split_batches, shape):
    monkeypatch.setattr(jax, "local_devices", lambda: [*range(count)])
    monkeypatch.setattr(jax.sharding, "Mesh", lambda grid, names: grid)
    assert devices.share_out(members, batch_size, can_split_batches).shape == shape


FORK = """
import multiprocessing, sys, warnings
import numpy as np
import unsculpt as us

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
scores, mass = rng.uniform(size=(2, 200))
tiny = {"members": 1, "epochs": 1, "batch_size": 64}
flow = us.FlowDecorrelator(**tiny).fit(scores, mass)
many = np.resize(scores, 100_000), np.resize(mass, 100_000)

def refused(work, *events):
    try:
        work(*events)
    except RuntimeError as error:
        return "spawn" in str(error)

def child():
    flow.transform(*many)
    us.SplineDecorrelator().fit(scores, mass).transform(*many)
    sys.exit(0 if refused(us.FlowDecorrelator(**tiny).fit, scores, mass) else 3)

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join(20)
code = process.exitcode
if code is None:
    process.kill()
sys.exit(99 if code is None else code)
"""


@pytest.mark.slow
def test_blas_has_one_thread_until_the_last_has_left():
    def threads():
        return [library.num_threads for library in devices._Blas.controller().lib_controllers]

    before = threads()
    assert before
    with devices.one_blas_thread():
        with devices.one_blas_thread():
            assert threads() == [1] * len(before)
        assert threads() == [1] * len(before)
    assert threads() == before


def test_a_fork_works_or_is_refused_at_once():
    child = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
