"""Conversion of complex measurements of real signals to real measurements."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator


def real_measurements(Phi, y):
    r"""Stack the real and the imaginary parts of complex measurements of real unknowns.

    For real x, the equations :math:`\Phi x = y` hold if and only if the equations of the real and
    of the imaginary parts hold, and the norm of the residual is the same.

    Parameters
    ----------
    Phi : array-like, sparse matrix or LinearOperator of shape (n_measurements, n_features)
        Measurement vectors in rows; an operator must have a product with its adjoint (`rmatvec`).
    y : array-like of shape (n_measurements,) or (n_measurements, n_signals)
        Measurements of one or more signals.

    Returns
    -------
    Phi : ndarray, CSR array or LinearOperator of shape (2 * n_measurements, n_features)
        Real measurement vectors: all real parts, then all imaginary parts.
    y : ndarray of shape (2 * n_measurements,) or (2 * n_measurements, n_signals)
        Real measurements in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import SparseRecovery, real_measurements
    >>> signal = np.zeros(64)
    >>> signal[[5, 20]] = 3, -1
    >>> frequencies = np.random.default_rng(0).permutation(np.arange(1, 32))[:12]
    >>> Phi = np.exp(-2j * np.pi * np.outer(frequencies, np.arange(64)) / 64)
    >>> model = SparseRecovery(algorithm="basis_pursuit")
    >>> _ = model.fit(*real_measurements(Phi, Phi @ signal))
    >>> np.flatnonzero(model.coef_.round(6))
    array([ 5, 20])
    """
    y = np.asarray(y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, but has {y.ndim}.")
    if not isinstance(Phi, LinearOperator):
        Phi = sparse.csr_array(Phi) if sparse.issparse(Phi) else np.asarray(Phi)
        if Phi.ndim != 2:
            raise ValueError(f"Phi must have two dimensions, but has {Phi.ndim}.")
    if Phi.shape[0] != len(y):
        raise ValueError(f"Phi gives {Phi.shape[0]} measurements, but y has {len(y)}.")

    stacked = np.concatenate([y.real, y.imag])
    if isinstance(Phi, LinearOperator):
        return _real_operator(Phi), stacked
    stack = sparse.vstack if sparse.issparse(Phi) else np.vstack
    rows = stack([Phi.real, Phi.imag])
    return rows, stacked


def _real_operator(Phi):
    """Stack the parts; the transpose is the real part of the adjoint of complex vectors."""
    Phi = aslinearoperator(Phi)
    m, n = Phi.shape

    def forward(X):
        Z = Phi @ X
        return np.concatenate([Z.real, Z.imag])

    def adjoint(R):
        complex_rows = R[:m] + 1j * R[m:]
        return (Phi.H @ complex_rows).real

    return LinearOperator(
        (2 * m, n), matvec=forward, rmatvec=adjoint, matmat=forward, rmatmat=adjoint,
        dtype=np.float64,
    )  # fmt: skip
