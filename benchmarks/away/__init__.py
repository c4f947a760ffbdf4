"""Tasks from the papers, galleries, vignettes and tests of other programs."""
