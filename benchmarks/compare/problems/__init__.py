"""One module per problem, found by file name; each contains a `PROBLEM`."""
