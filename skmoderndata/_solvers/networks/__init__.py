"""Linear output layers of networks whose first layer is given."""
