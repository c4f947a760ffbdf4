"""Networks with a fixed first layer: random neurons, radial functions, ridge on their outputs.

Extreme learning machines (Huang, Zhu and Siew 2006), random vector functional links (Pao, Park and
Sobajic 1994), radial basis functions (Moody and Darken 1989). `neural_network` calls them.
"""
