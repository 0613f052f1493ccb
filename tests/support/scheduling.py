"""Which worker of pytest-xdist runs which tests."""

from xdist.scheduler import LoadScopeScheduling

KERNEL = "tests/kernel"


class ByModule(LoadScopeScheduling):
    """One worker runs a whole module, whose tests share fixtures; one worker all of tests/kernel.

    The largest are handed out first: the kernel tests begin at once.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return what the worker gets that gets this test: a module, or all kernel tests."""
        return KERNEL if nodeid.startswith(f"{KERNEL}/") else nodeid.partition("::")[0]
