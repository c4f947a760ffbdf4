"""One module per problem, found by file name; each holds a `PROBLEM`."""
