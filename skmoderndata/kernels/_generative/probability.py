"""Marginal kernels: the probability that two samples have the same hidden variables."""

from typing import Any

import numpy as np

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_samples, as_vectors, row_blocks
from skmoderndata._samples.sequences import Packed
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.generative.common_paths import common_path_logarithms
from skmoderndata._solvers.generative.normals import log_densities
from skmoderndata._solvers.generative.pair_markov import PairModel, pair_logarithms
from skmoderndata.kernels._base import BaseKernel
from skmoderndata.kernels._generative.hidden_markov import (
    HiddenMarkovModel,
    checked_model,
    model_codes,
    pack_symbols,
    probabilities,
    symbols_from_data,
)
from skmoderndata.kernels._generative.mixtures import (
    NormalMixture,
    inner,
    is_fitted,
    model_from_data,
    read_mixture,
    show_model,
)
from skmoderndata.kernels._strings.base import SequenceKernel

FAMILY = "kernels of generative models"
PAGE = "generative_kernels"


class ProbabilityKernel(BaseKernel):
    """A kernel with logarithms of its values, for `Normalized`."""

    def _log_gram(self, X: Any, Y: Any) -> Array:
        raise NotImplementedError

    def _log_diag(self, X: Any) -> Array:
        raise NotImplementedError

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(self._log_gram(X, Y))

    def _diag(self, X: Any) -> Array:
        return np.exp(self._log_diag(X))


class CodedKernel(ProbabilityKernel, SequenceKernel):
    """A kernel on sequences over the alphabet of a model."""

    symbols: Any

    @property
    def n_symbols(self) -> int:
        """Number of symbols of the model."""
        raise NotImplementedError

    def _check(self, X: Any) -> Packed:
        return pack_symbols(X, type(self).__name__)

    def _coded(self, X: Packed) -> Packed:
        """Return the collection with the symbol codes of the model."""
        codes = model_codes(X, self.symbols, self.n_symbols, type(self).__name__)
        return Packed(codes, X.offsets, (), "tokens")

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with the alphabet of the training samples.

        Parameters
        ----------
        X : collection of sequences
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy, equal to this kernel if the alphabet is given or the symbols are numbers.
        """
        kernel: Any = super().from_data(X)
        name = type(self).__name__
        kernel.symbols = symbols_from_data(as_samples(X, name), self.symbols, name)
        return kernel


class MixtureP(ProbabilityKernel):
    r"""Joint probability of two samples drawn independently from one component of a mixture.

    .. math:: k(x, z) = \sum_m P(m) P(x \mid m) P(z \mid m)

    Parameters
    ----------
    model : object or tuple
        `GaussianMixture` or `BayesianGaussianMixture` of scikit-learn, one of its fitted naive
        Bayes classifiers, or ``(weights, log_prob)`` where ``log_prob(X)`` returns the logarithms
        of P(x given m), of shape (n_samples, n_components). An unfitted mixture is cloned and
        fitted to the training samples.

    See Also
    --------
    Fisher : Derivatives in the parameters of the mixture.

    Notes
    -----
    The kernel is positive semi-definite, with the features :math:`\sqrt{P(m)} P(x \mid m)`.
    Densities in many dimensions are tiny or huge: `Normalized(MixtureP(model))` works with their
    logarithms. The kernel value of a sample of probability 0 with any other sample is 0. The
    kernel compares samples only through their components, so all samples well inside one component
    are alike.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.kernels import MixtureP
    >>> p = np.array([[0.9, 0.2], [0.3, 0.6]])  # P(1) for each component and feature
    >>> def log_prob(X):
    ...     X = np.asarray(X)[:, None, :]
    ...     return np.log(np.where(X == 1, p, 1 - p)).sum(axis=2)
    >>> MixtureP(([0.5, 0.5], log_prob))([[1, 0]], [[1, 1]]).round(4)
    array([[0.0756]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",),
        cost="n K densities, n^2 K", domain="vector", method=PAGE,
    )  # fmt: skip

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples must be rows of a table; False if `model` has its own function."""
        is_pair = isinstance(self.model, tuple | list)
        return not is_pair or isinstance(self.model, NormalMixture)

    def __repr__(self) -> str:
        return f"MixtureP(model={show_model(self.model)})"

    def _validate(self) -> None:
        model = inner(self.model)
        if isinstance(model, tuple | list) and not isinstance(model, NormalMixture):
            if len(model) != 2 or not callable(model[1]):
                raise self._refuse("model", "a mixture, or (weights, log_prob)")
            probabilities(model[0], "weights", (None,), "MixtureP")
        elif not is_fitted(model):
            raise ValueError(
                f"MixtureP: {self!r} has no fitted model yet; call kernel.from_data(X_train), or "
                "use KernelTransformer."
            )
        elif read_mixture(model) is None and not hasattr(model, "predict_joint_log_proba"):
            raise self._refuse("model", "a mixture, or (weights, log_prob)")

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with a fitted model.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : MixtureP
            A copy, equal to this kernel if the model is fitted.
        """
        kernel: Any = super().from_data(X)
        table = as_vectors(X, "MixtureP") if self.requires_vector_input else X
        kernel.model = model_from_data(self.model, table, "MixtureP")
        return kernel

    def _check(self, X: Any) -> Array:
        """Logarithms of the features, ``log sqrt(P(m)) + log P(x given m)``."""
        model = inner(self.model)
        mixture = read_mixture(model)

        # accept a normal mixture, a pair (weights, log_prob), or a model of joint probabilities
        if mixture is not None:
            table = as_vectors(X, "MixtureP")
            logs = log_densities(table, mixture.means, mixture.covariances)
            weights = np.asarray(mixture.weights)
        elif isinstance(model, tuple | list):
            component_weights, log_prob = model
            weights = np.asarray(component_weights, dtype=np.float64)
            logs = np.asarray(log_prob(X))
            if logs.shape != (len(X), len(weights)) or np.isnan(logs).any():
                raise ValueError(
                    "MixtureP: log_prob(X) must return logarithms of shape (n_samples, "
                    f"{len(weights)}), but returned an array of shape {logs.shape}."
                )
        else:
            joint = model.predict_joint_log_proba(as_vectors(X, "MixtureP"))
            log_prior = getattr(model, "class_log_prior_", None)
            if log_prior is None:
                log_prior = np.log(model.class_prior_)
            return np.asarray(joint - 0.5 * log_prior)

        with np.errstate(divide="ignore"):
            return np.asarray(logs + 0.5 * np.log(weights))

    def _log_gram(self, X: Array, Y: Array | None) -> Array:
        Z = X if Y is None else Y
        total = np.full((len(X), len(Z)), -np.inf)
        for m in range(X.shape[1]):
            products = X[:, m, None] + Z[None, :, m]
            np.logaddexp(total, products, out=total)
        return total

    def _log_diag(self, X: Array) -> Array:
        return np.asarray(np.logaddexp.reduce(2.0 * X, axis=1))

    def features(self, X: Any) -> Array:
        """Return the vectors whose inner products are the kernel, for linear models.

        Parameters
        ----------
        X : array or list
            Samples.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            Square roots of the weights times the densities.
        """
        self._validate()
        return np.asarray(np.exp(self._real(X)))


class _CommonPaths(CodedKernel):
    """Sum over common hidden states of two samples, on a chain or a tree."""

    startprob: Any
    transmat: Any
    emissionprob: Any

    @property
    def n_symbols(self) -> int:
        """Number of symbols of the model."""
        return int(np.shape(self.emissionprob)[-1])

    def _model(self) -> HiddenMarkovModel:
        name = type(self).__name__
        emission = (self.emissionprob,)
        return checked_model(self.startprob, self.transmat, "symbols", emission, name)

    def _validate(self) -> None:
        self._model()

    def _tree(self, length: int) -> Array:
        """Return the parents of the nodes of a sample with `length` symbols."""
        raise NotImplementedError

    def _by_length(self, X: Packed, length: int) -> tuple[Array, Array]:
        """Return the positions of the samples with `length` symbols, and their symbols as rows."""
        samples = np.flatnonzero(X.lengths == length)
        first = X.offsets[samples]
        return samples, X.codes[first[:, None] + np.arange(length)]

    def _log_gram(self, X: Packed, Y: Packed | None) -> Array:
        X = self._coded(X)
        Z = X if Y is None else self._coded(Y)
        model = self._model()
        arrays = (model.startprob, model.transmat, model.emission[0])
        logarithms = np.full((len(X), len(Z)), -np.inf)
        for length in np.intersect1d(X.lengths, Z.lengths):
            parents = self._tree(int(length))
            rows, A = self._by_length(X, length)
            columns, B = self._by_length(Z, length)
            row_bytes = 5 * FLOAT_BYTES * len(columns) * len(model.startprob)
            for block in row_blocks(len(rows), row_bytes):
                values = common_path_logarithms(A[block, None], B[None], parents, *arrays)
                logarithms[np.ix_(rows[block], columns)] = values
        return logarithms if Y is not None else np.minimum(logarithms, logarithms.T)

    def _log_diag(self, X: Packed) -> Array:
        X = self._coded(X)
        model = self._model()
        logarithms = np.zeros(len(X))
        arrays = (model.startprob, model.transmat, model.emission[0])
        for length in np.unique(X.lengths):
            rows, A = self._by_length(X, length)
            parents = self._tree(int(length))
            logarithms[rows] = common_path_logarithms(A, A, parents, *arrays)
        return logarithms


class FixedLengthHMM(_CommonPaths):
    r"""Probability that a hidden Markov model emits two strings along the same hidden path.

    .. math:: k(s, t) = \sum_h P(h) P(s \mid h) P(t \mid h)

    where h runs over all paths of hidden states; 0 for strings of unequal lengths.

    Parameters
    ----------
    startprob : array-like of shape (n_states,)
        Probabilities of the first state.
    transmat : array-like of shape (n_states, n_states)
        Probabilities of the next state.
    emissionprob : array-like of shape (n_states, n_symbols)
        Probabilities of the symbols.
    symbols : str or sequence, default=None
        Symbols in the order of the columns of `emissionprob`. None means the numbers 0, 1 and so
        on; for other sequences it means the sorted symbols of the training samples.

    See Also
    --------
    HiddenTree : Hidden states on a tree instead of a chain.
    PairHMM : Strings of unequal lengths.
    HMMFisher : Features of the same model, for strings of all lengths.

    Notes
    -----
    The kernel is positive semi-definite. Values fall exponentially with the length; `Normalized`
    works with their logarithms. The kernel value of a string of probability 0 is 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.1.

    Examples
    --------
    >>> from skmoderndata.kernels import FixedLengthHMM
    >>> kernel = FixedLengthHMM(
    ...     startprob=[0.6, 0.4],
    ...     transmat=[[0.7, 0.3], [0.2, 0.8]],
    ...     emissionprob=[[0.9, 0.1], [0.3, 0.7]],
    ...     symbols="01",
    ... )
    >>> kernel(["011", "001", "01"]).round(6)
    array([[0.034243, 0.019261, 0.      ],
           [0.019261, 0.049526, 0.      ],
           [0.      , 0.      , 0.089028]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",),
        cost="length x states^2 for each pair", domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(
        self, startprob: Any, transmat: Any, emissionprob: Any, symbols: Any = None
    ) -> None:
        self.startprob = startprob
        self.transmat = transmat
        self.emissionprob = emissionprob
        self.symbols = symbols

    def _tree(self, length: int) -> Array:
        return np.arange(-1, length - 1)


class HiddenTree(_CommonPaths):
    r"""Probability that a hidden tree model emits two labelled trees from the same hidden states.

    .. math:: k(x, z) = \sum_h P(h) P(x \mid h) P(z \mid h)

    where h runs over the states of all nodes; each state depends on the state of the parent.

    Parameters
    ----------
    parents : array-like of shape (n_nodes,)
        Parent of each node, with a smaller number than the node; -1 for the root, node 0.
    startprob : array-like of shape (n_states,)
        Probabilities of the root's state.
    transmat : array-like of shape (n_states, n_states)
        Probabilities of the state of a child, given the state of its parent.
    emissionprob : array-like of shape (n_states, n_symbols)
        Probabilities of the symbols observed at a node.
    symbols : str or sequence, default=None
        Symbols in the order of the columns of `emissionprob`. None means the numbers 0, 1 and so
        on; for other sequences it means the sorted symbols of the training samples.

    See Also
    --------
    FixedLengthHMM : Hidden states on a chain.

    Notes
    -----
    A sample is the sequence of symbols at the nodes. An example is evolution along a phylogenetic
    tree, with one sample for each gene. The kernel is positive semi-definite. The time of the
    upward pass is proportional to the number of nodes.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.1.
    .. [2] Vert, A tree kernel to analyse phylogenetic profiles, Bioinformatics 18, 2002.

    Examples
    --------
    >>> from skmoderndata.kernels import HiddenTree
    >>> kernel = HiddenTree(
    ...     parents=[-1, 0, 0, 1],
    ...     startprob=[0.6, 0.4],
    ...     transmat=[[0.7, 0.3], [0.2, 0.8]],
    ...     emissionprob=[[0.9, 0.1], [0.3, 0.7]],
    ... )
    >>> kernel([[0, 1, 0, 1]], [[0, 0, 0, 1]]).round(6)
    array([[0.010547]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel", "vert2002tree"),
        cost="nodes x states^2 for each pair", domain="tree", method=PAGE,
    )  # fmt: skip

    def __init__(
        self,
        parents: Any,
        startprob: Any,
        transmat: Any,
        emissionprob: Any,
        symbols: Any = None,
    ) -> None:
        self.parents = parents
        self.startprob = startprob
        self.transmat = transmat
        self.emissionprob = emissionprob
        self.symbols = symbols

    def _validate(self) -> None:
        super()._validate()
        parents = np.asarray(self.parents)
        nodes = np.arange(parents.size)
        valid = parents.ndim == 1 and parents.size > 0 and parents.dtype.kind in "iu"
        if valid:
            one_root = parents[0] == -1 and not (parents[1:] < 0).any()
            valid = one_root and not (parents >= nodes).any()
        if not valid:
            raise self._refuse(
                "parents",
                "-1 for node 0, the only root, and a smaller number for each other node",
            )

    def _coded(self, X: Packed) -> Packed:
        packed = super()._coded(X)
        n_nodes = np.size(self.parents)
        wrong = np.flatnonzero(packed.lengths != n_nodes)
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"HiddenTree: sample {i} has {packed.lengths[i]} symbols for "
                f"{n_nodes} nodes; pass one symbol for each node."
            )
        return packed

    def _tree(self, length: int) -> Array:
        return np.asarray(self.parents)


class PairHMM(CodedKernel):
    r"""Probability that a pair hidden Markov model emits two strings, over all alignments.

    .. math:: k(s, t) = P(s, t) = \sum_\pi P(\pi, s, t)

    where :math:`\pi` runs over all alignments: sequences of paired symbols and of symbols of one
    string alone.

    Parameters
    ----------
    joint : array-like of shape (n_symbols, n_symbols)
        Probabilities of aligned pairs of symbols: symmetric, with sum one, and positive
        semi-definite in the default topology.
    insert : array-like of shape (n_symbols,)
        Probabilities of unpaired symbols.
    delta : float, default=0.2
        Probability that an insertion starts, between 0 and 1.
    epsilon : float, default=0.3
        Probability that an insertion continues, between 0 and 1.
    tau : float, default=0.1
        Probability that the strings end, between 0 and 1.
    topology : {"independent", "standard"}, default="independent"
        "independent": after each pair there may be an insertion of any length into s, and then one
        into t. "standard": only one of the two insertions may follow a pair, as in alignment
        programs; this kernel is not positive semi-definite for all parameters.
    symbols : str or sequence, default=None
        Symbols in the order of the rows of `joint`. None means the numbers 0, 1 and so on; for
        other sequences it means the sorted symbols of the training samples.

    See Also
    --------
    GapWeighted : Common subsequences with gaps.
    FixedLengthHMM : Without insertions.

    Notes
    -----
    The kernel is positive semi-definite in the default topology. Values fall exponentially with
    the lengths; `Normalized` works with their logarithms. Every cell of the recursion has its own
    exponent, so that no path underflows in strings of thousands of symbols.

    References
    ----------
    .. [1] Watkins, Dynamic alignment kernels, in: Advances in large margin classifiers, 2000,
       pp. 39-50.
    .. [2] Durbin, Eddy, Krogh and Mitchison, Biological sequence analysis, 1998, chapter 4.
    .. [3] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.1.

    Examples
    --------
    >>> from skmoderndata.kernels import Normalized, PairHMM
    >>> joint = [[0.365, 0.185], [0.185, 0.265]]
    >>> kernel = PairHMM(joint, insert=[0.5, 0.5], symbols="01")
    >>> float(kernel(["011"], ["01"])[0, 0].round(8))
    0.00050561
    >>> Normalized(kernel)(["011", "01", "1100"]).round(2)
    array([[1.  , 0.5 , 0.24],
           [0.5 , 1.  , 0.14],
           [0.24, 0.14, 1.  ]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("durbin1998biological", "shawetaylor2004kernel", "watkins2000dynamic"),
        cost="|s| |t| for each pair", domain="string", psd=False, method=PAGE,
    )  # fmt: skip

    def __init__(
        self,
        joint: Any,
        insert: Any,
        delta: float = 0.2,
        epsilon: float = 0.3,
        tau: float = 0.1,
        topology: str = "independent",
        symbols: Any = None,
    ) -> None:
        self.joint = joint
        self.insert = insert
        self.delta = delta
        self.epsilon = epsilon
        self.tau = tau
        self.topology = topology
        self.symbols = symbols

    @property
    def n_symbols(self) -> int:
        """Number of symbols of the model."""
        return int(np.size(self.insert))

    def _validate(self) -> None:
        self._check_choice("topology", ("independent", "standard"))
        for name in ("delta", "epsilon", "tau"):
            self._check_real(name, 0.0, 1.0, low_included=name != "tau")
        M = len(probabilities(self.insert, "insert", (None,), "PairHMM"))
        P = np.asarray(self.joint, dtype=np.float64)
        if P.shape != (M, M) or not np.allclose(P, P.T, rtol=0, atol=ACCUMULATED_ROUNDING):
            raise self._refuse("joint", f"symmetric, of shape ({M}, {M})")
        probabilities(P.ravel(), "joint", (M * M,), "PairHMM")
        if self.topology == "standard":
            if 2 * self.delta + self.tau > 1 or self.epsilon + self.tau > 1:
                raise self._refuse("tau", "at most 1 - 2 delta and 1 - epsilon")
        elif np.linalg.eigvalsh(P)[0] < -RANK_TOL:
            raise self._refuse("joint", 'positive semi-definite, or use topology="standard"')

    def _model(self) -> PairModel:
        d = float(self.delta)
        e = float(self.epsilon)
        tau = float(self.tau)
        if self.topology == "standard":
            # compute the rows of the table of moves: from a match, then from either insertion
            to_match = 1 - e - tau
            moves = np.array([[1 - 2 * d - tau, d, d], [to_match, e, 0.0], [to_match, 0.0, e]])
            ends = np.full(3, tau)
        else:
            # compute the columns of the table of moves: to a match, then to either insertion
            out = np.array([(1 - d) ** 2, (1 - e) * (1 - d), 1 - e])
            ends = tau * out
            second = [d * (1 - d), d * (1 - e), e]
            moves = np.stack([(1 - tau) * out, [d, e, 0.0], second], axis=1)
        joint = np.ascontiguousarray(self.joint, dtype=np.float64)
        insert = np.array(self.insert, dtype=np.float64)
        return PairModel(joint, insert, moves, ends)

    def _log_gram(self, X: Packed, Y: Packed | None) -> Array:
        is_square = Y is None
        model = self._model()
        X = self._coded(X)
        Z = X if Y is None else self._coded(Y)
        K = np.empty((len(X), len(Z)))

        # use all pairs, or only the lower triangle of a square matrix
        i, j = np.tril_indices(len(X)) if is_square else np.indices(K.shape).reshape(2, -1)
        pairs = np.stack([i, j], axis=1)
        others = (Z.codes, Z.offsets)
        values = pair_logarithms(model, (X.codes, X.offsets), others, pairs)
        K[i, j] = values
        if is_square:
            K[j, i] = values
        return K

    def _log_diag(self, X: Packed) -> Array:
        X = self._coded(X)
        each = np.arange(len(X))
        pairs = np.stack([each, each], axis=1)
        packed = (X.codes, X.offsets)
        return pair_logarithms(self._model(), packed, packed, pairs)
