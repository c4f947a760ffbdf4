"""Speed against other software at sizes drawn at random: `python -m benchmarks.race`.

`families` holds, for each family of methods, how its tables are drawn and who can do the work;
`runner` draws, measures and compares.
"""
