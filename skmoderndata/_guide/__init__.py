"""Choice of a method: `suggest`, the facts of the data, and the rows of the chooser."""
