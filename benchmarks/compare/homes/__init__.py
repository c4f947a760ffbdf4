"""Problems that methods are made for: `homes/<stem>.py` goes with `docs/methods/<stem>.md`."""
