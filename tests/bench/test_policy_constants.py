"""Half and double of the policy's constants: every one is there to be scaled, and is as before when it was."""

from types import ModuleType

import pytest

from bench.research import policy_constants
from bench.research.policy_constants import CONSTANTS, MODULES, Constant
from headstart.engine.policy import policy

# What counts places, or what no recording meets: tables of likely tokens, prices of a machine that nobody measured.
OTHERS = {
    *("SIZES", "BULK", "_TABULATED", "_LEAST", "_SWITCHING", "_PREFILL", "_MATCHES", "_CHANCES"),
    *("_DOUBTED", "_ALLOWANCE", "_SHIPPED_DOUBTS", "_MEANS"),
}


def tuned(module: ModuleType) -> set[str]:
    """Names of numbers, and of tuples of numbers."""
    found = set()
    for name, value in vars(module).items():
        figures = value if isinstance(value, tuple) else (value,)
        if name.isupper() and figures and all(isinstance(figure, int | float) for figure in figures):
            found.add(name)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_every_constant_of_the_policy_is_measured(module: ModuleType) -> None:
    assert tuned(module) - OTHERS == {each.name for each in CONSTANTS if each.module is module}


@pytest.mark.slow
def test_a_rule_that_is_spoilt_is_slower_and_comes_back() -> None:
    spoilt = Constant(policy, "LONGEST", kind="count")
    found = policy_constants.measure([spoilt], seeds=(1,))
    (row,) = found["constants"]
    assert row["half"]["mean"] < 0.0
    assert policy.LONGEST == spoilt.value == 15
