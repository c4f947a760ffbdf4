"""Support vector methods: core sets, minimum enclosing balls, the fewest features."""

__all__: list[str] = []
