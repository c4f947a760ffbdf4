"""Quadratic functions of a row, and their extrema on a sphere."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array


class QuadraticForm(NamedTuple):
    """Quadratic function ``x H x / 2 + f x + c`` of a row x."""

    H: Array
    f: Array
    c: float

    def __call__(self, X: Array) -> Array:
        """Evaluate the function for each row of X."""
        return np.asarray(np.einsum("ti,ti->t", X @ self.H, X) / 2 + X @ self.f + self.c)

    def extrema_on_sphere(self, radius: float) -> tuple[Array, Array]:
        """Find the rows of a given norm with the largest and the smallest value.

        With a radius that is typical of the data, these are the optimal stimuli of Berkes and
        Wiskott (see `SlowFeatureAnalysis`), which excite or inhibit the component most.

        Parameters
        ----------
        radius : float
            Norm of the rows.

        Returns
        -------
        largest, smallest : ndarray of shape (n_features,)
            Rows at the global extrema.
        """
        return (
            _largest_on_sphere(self.H, self.f, radius),
            _largest_on_sphere(-self.H, -self.f, radius),
        )

    def of_projection(self, shift: Array, P: Array) -> "QuadraticForm":
        """Write the function of ``P (x - shift)`` as a function of x."""
        H = P.T @ self.H @ P
        f = self.f @ P
        c = self.c + float(shift @ H @ shift / 2 - f @ shift)
        return QuadraticForm(H, f - H @ shift, c)


def quadratic_form(w: Array, c: float, p: int) -> QuadraticForm:
    """Collect the weights w of the monomials of p variables, of degree 1 or of degrees 1 and 2."""
    f = w[:p].copy()
    H = np.zeros((p, p))
    if len(w) > p:
        H[np.triu_indices(p)] = w[p:]
        H += H.T  # this doubles the diagonal, because the second derivative of w x^2 is 2 w
    return QuadraticForm(H, f, c)


def _largest_on_sphere(H: Array, f: Array, radius: float) -> Array:
    """Maximise ``x H x / 2 + f x`` subject to ``|x| = radius``.

    The maximum has the form ``x = (mu - H)^-1 f``, where mu is no less than the largest eigenvalue
    of H. Its norm decreases with mu, which leaves one equation in one unknown.
    """
    # change to the eigenbasis
    values, V = linalg.eigh(H)
    g = V.T @ f
    gap = values[-1] - values  # 0 for the leading eigenvector
    top = gap <= ACCUMULATED_ROUNDING * max(np.abs(values).max(), TINY)

    # in the hard case there is no linear term along the leading eigenvector
    lead = np.linalg.norm(g[top])
    if lead <= ACCUMULATED_ROUNDING * np.linalg.norm(g) or lead == 0:
        x = np.where(top, 0.0, g / np.where(top, 1.0, gap))
        remaining = radius**2 - x @ x
        # mu equals the largest eigenvalue, whose eigenvector supplies the missing part of the norm
        if remaining >= 0:
            x[-1] = np.sqrt(remaining)
            return np.asarray(V @ x)
        g = np.where(top, 0.0, g)

    # solve the secular equation for the difference between mu and the largest eigenvalue; at
    # `upper`, |x| <= radius
    upper = np.linalg.norm(g) / radius
    lower = lead / radius * (1 - ACCUMULATED_ROUNDING) if lead > 0 else upper * EPS
    above = optimize.brentq(
        lambda mu: 1 / np.linalg.norm(g / (mu + gap)) - 1 / radius,
        lower,
        upper * (1 + ACCUMULATED_ROUNDING),
    )
    x = g / (above + gap)
    return np.asarray(V @ (x * (radius / np.linalg.norm(x))))
