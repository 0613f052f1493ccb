"""Which worker of pytest-xdist runs which tests."""

from xdist.scheduler import LoadGroupScheduling


class ByModule(LoadGroupScheduling):
    """One worker runs a whole module, whose tests share fixtures, or a whole ``xdist_group``.

    The largest are handed out first: the group of the kernel tests begins at once.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, or its module."""
        return super()._split_scope(nodeid).partition("::")[0]
