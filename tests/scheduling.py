"""Which process runs which tests, where there are several."""

from xdist.scheduler import LoadScopeScheduling


class ByFile(LoadScopeScheduling):
    """The tests of a file run in one process, so that what they share is made once; those of all engines, too.

    In the order of collection: long files come early, and the examples of `src` and `docs` fill the end.
    The marks that xdist has for groups are not seen with pytest 9.2, and nothing says so.
    """

    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        path = nodeid.partition("::")[0]
        return "engines" if path.startswith("tests/engines/") else path
