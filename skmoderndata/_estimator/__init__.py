"""What every estimator stands on: its base, its card, validation, blocks of rows, plots."""
