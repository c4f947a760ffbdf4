"""Which method for my data: `suggest`, the facts it reads, and the rows of the chooser."""
