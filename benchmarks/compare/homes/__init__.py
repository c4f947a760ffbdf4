"""Problems designed for a method: `homes/<stem>.py` goes with `docs/methods/<stem>.md`."""
