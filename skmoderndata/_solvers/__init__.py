"""Pure numerics on arrays, shared by the methods; each solver comes with its certificate."""
