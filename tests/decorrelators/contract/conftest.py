"""Every test of the contract runs on every method, with each kind of attributes it takes."""

import pytest
from contract import CASES, kinds, takes, takes_long


def pytest_generate_tests(metafunc):
    if "kind" not in metafunc.fixturenames:
        return
    weights = metafunc.module.__name__.endswith("test_weights")
    every = kinds()
    if "case" in metafunc.fixturenames:
        pairs = [
            pytest.param(
                kind,
                case,
                marks=[pytest.mark.slow] if takes_long(kind, case, weights=weights) else [],
                id=f"{kind.__name__}-{case}",
            )
            for kind in every
            for case in CASES
            if takes(kind, case)
        ]
        metafunc.parametrize(("kind", "case"), pairs)
    else:
        metafunc.parametrize("kind", every, ids=[kind.__name__ for kind in every])
