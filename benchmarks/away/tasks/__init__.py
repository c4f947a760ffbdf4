"""One file per task, each with a `TASK`."""
