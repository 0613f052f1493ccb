"""make test gives a module, or the kernel tests of all modules, to one worker."""

import pytest
from scheduling import ByModule


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[1-x::y@z]", "tests/a/test_b.py"),
        ("tests/kernel/test_b.py::test_c[1]", "tests/kernel"),
    ],
)
def test_a_unit_of_work_is_a_module_or_all_kernel_tests(test, unit):
    assert ByModule._split_scope(ByModule.__new__(ByModule), test) == unit
