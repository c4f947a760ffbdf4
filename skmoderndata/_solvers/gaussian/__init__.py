"""Gaussian processes for many samples: inducing inputs, committees.

`covariances` has stationary covariance functions with their gradients contracted against a weight
matrix (Rasmussen and Williams 2006, chapter 4), `inducing` the sums, likelihoods, bounds and
gradients of approximations by inducing inputs (Quinonero-Candela and Rasmussen 2005, Titsias
2009), `bernoulli` the bound for two classes (Hensman and others 2015), `committee` the rules that
combine experts (Tresp 2000, Deisenroth and Ng 2015, Liu and others 2018).
`skmoderndata.gaussian_process` calls them.
"""
