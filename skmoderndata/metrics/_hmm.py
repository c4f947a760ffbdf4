"""Log-likelihoods of sequences under hidden Markov models."""

from skmoderndata._solvers.generative.hidden_markov import log_likelihoods
from skmoderndata.kernels._generative.hidden_markov import observations, read_model


def hmm_log_likelihood(model, X, *, symbols=None):
    """Compute the logarithm of the probability of each sequence under a hidden Markov model.

    Parameters
    ----------
    model : object of hmmlearn, or tuple
        Fitted `CategoricalHMM`, `GaussianHMM` ("diag" or "full") or `PoissonHMM`, or arrays
        ``(startprob, transmat, emissionprob)``.
    X : collection of sequences
        Sequences of symbols of any lengths; for Gaussian and Poisson models arrays of shape
        (length, n_features).
    symbols : str or sequence, default=None
        Symbols in the order of the columns of `emissionprob`; None means the numbers 0, 1
        and so on.

    Returns
    -------
    log_likelihood : ndarray of shape (n_samples,)
        One value for each sequence: minus infinity for a sequence of probability 0, and 0 for an
        empty sequence.

    See Also
    --------
    skmoderndata.kernels.HMMFisher : Uses derivatives of the log-likelihoods as features.

    Notes
    -----
    One forward pass runs over all sequences, scaled at each step to avoid underflow.

    References
    ----------
    .. [1] Rabiner, A tutorial on hidden Markov models and selected applications in speech
       recognition, Proceedings of the IEEE 77(2), 1989, pp. 257-286.

    Examples
    --------
    >>> from skmoderndata.metrics import hmm_log_likelihood
    >>> model = ([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.3, 0.7]])
    >>> hmm_log_likelihood(model, ["abb", "aab", "a"], symbols="ab").round(4)
    array([-2.1541, -1.9228, -0.4155])
    """
    arrays = read_model(getattr(model, "estimator", model), "hmm_log_likelihood")
    if arrays is None:
        raise ValueError(
            f"hmm_log_likelihood: {type(model).__name__} is not fitted; call model.fit first."
        )
    seen, _ = observations(arrays, X, symbols, "hmm_log_likelihood")
    return log_likelihoods(arrays.startprob, arrays.transmat, seen)
