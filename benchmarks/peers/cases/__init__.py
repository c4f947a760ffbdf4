"""One file per case; each holds a `CASE`."""
