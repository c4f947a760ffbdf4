"""Which tier runs: `pytest` alone runs the default one, any `-m` everything that it names."""

FULL = False


def choose(config):
    """Set the tier from pytest's options, before any test module is imported."""
    global FULL
    FULL = bool(config.getoption("-m"))
