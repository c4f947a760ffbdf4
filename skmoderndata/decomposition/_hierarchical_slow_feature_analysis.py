"""Slow feature analysis in layers of local receptive fields."""

from collections.abc import Mapping
from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_fewer
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata._solvers.series.expansion import PolynomialExpansion
from skmoderndata._solvers.series.slow_features import (
    SlowMoments,
    slow_directions,
)
from skmoderndata.decomposition._slow_base import check_ids

# Number of bytes for the moments of the nodes that are trained in one pass.
_MOMENT_BYTES = 2**28
# Number of expanded values that stay in the cache until they are combined.
_CACHE_FLOATS = 2**16
_LAYER_KEYS = ("field", "stride", "n_pre", "n_out", "degree", "weight_sharing")


class HierarchicalSlowFeatureAnalysis(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Learn slow functions of image sequences by layers of local slow feature analyses.

    Rows are images in temporal order. Each layer covers its input, an array of shape (height,
    width, channels), with overlapping receptive fields. In each field, a node computes

    .. math::
        z = \mathrm{clip}(W_1 (x - m_1), -c, c), \qquad y = W_2 (\Phi(z) - m_2),

    where :math:`\Phi` lists all monomials up to `degree`. The rows of :math:`W_1` and
    :math:`W_2` are obtained by slow feature analysis: they are the directions that successively
    minimise the mean squared step :math:`\langle (y_{t+1} - y_t)^2 \rangle` among uncorrelated
    outputs of unit variance. The outputs :math:`y` are the channels of the next layer [1]_ [2]_.

    Parameters
    ----------
    n_components : int, default=8
        Largest number of outputs of each node of the last layer; fewer if the training rows vary
        in fewer directions.

    image_shape : tuple of int, default=None
        Shape (height, width) or (height, width, channels) of the image in each row, in C order.
        None means ``(1, n_features, 1)``.

    layers : sequence of dict, default=None
        One dict for each layer, from the input to the output, with the keys

        - ``field``: (height, width) of the receptive fields, or one number for both; the whole
          input by default;
        - ``stride``: (vertical, horizontal) distance of neighbouring fields, or one number for
          both; by default equal to ``field``, which tiles the input;
        - ``n_pre``, ``n_out``, ``degree``, ``weight_sharing``: override the parameters of the same
          name (in the last layer, ``n_out`` overrides `n_components`).

        None means layers with fields of 3 or 4 pixels and stride 2 until at most 4 x 4 fields
        remain, and a last layer with a single field. If `image_shape` is None, too, there is a
        single layer with one field.

    n_pre : int, default=16
        Number of outputs of the linear stage of a node; None keeps all directions with variance.

    n_out : int, default=8
        Number of outputs of a node, in all layers except the last.

    degree : int, default=2
        Degree of the polynomial expansion; 1 gives a linear network.

    weight_sharing : bool, default=True
        If True, one node per layer is trained on the patches of all fields, as in a convolutional
        network; if False, one node is trained for each field.

    noise_std : float, default=0.0
        Standard deviation of the noise that is added to the outputs of the linear stage, which
        have unit variance, to train the second stage. With few rows, values such as 1e-3 or 1e-2
        prevent the amplification of directions with negligible variance.

    clip : float, default=4.0
        Bound on the outputs of the linear stage, in standard deviations. It keeps the cascade of
        polynomials bounded on rows unlike the training rows. None disables clipping.

    allow_uncovered : bool, default=False
        If True, fields and strides need not cover the whole input.

    rank_tol : float, default=None
        Smallest variance of a direction, relative to the largest and after scaling to unit
        diagonal; directions of smaller variance count as constant. None means
        ``max(1e-10, n_features * eps)``.

    batch_size : int, default=None
        Number of rows whose activities are in memory at a time; None means as many as fit into
        64 MiB. It affects the result only by rounding.

    n_jobs : int, default=None
        Number of processes that train the fields of a layer without weight sharing. None means
        1 unless in a :obj:`joblib.parallel_backend` context; -1 means all processors.

    random_state : int, RandomState instance or None, default=None
        Seed or generator of the noise. Pass an int for reproducible results.

    Attributes
    ----------
    layers_ : tuple of SlowLayer
        Layers of the trained network. A layer is a named tuple of ``input_shape`` (height,
        width, channels), ``field``, ``stride``, ``grid`` (number of fields down and across),
        ``degree``, ``n_out`` (channels of its output), ``shared``, and ``nodes``: one node, or
        one for each field in C order. A node is a named tuple of ``mean``, ``pre`` (the linear
        stage, of shape (n_pre, field height * field width * channels)), ``expanded_mean``,
        ``components`` (of shape (n_out, monomials of ``pre`` outputs)) and ``delta_values``.

    delta_values_ : ndarray of shape (n_features_out,)
        Mean squared step of each output on the training rows, ascending within a node; with
        weight sharing and several fields in the last layer, the mean over the fields.

    image_shape_ : tuple of int
        Height, width and channels of the input.

    n_features_in_ : int
        Number of pixels times channels.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    SlowFeatureAnalysis : A single layer without receptive fields, with exact incremental learning.
    sklearn.decomposition.PCA : Directions of largest variance, whatever the order of rows.

    Notes
    -----
    Each layer takes two passes over the rows, chunk by chunk, and recomputes the layers below it
    in each pass, so memory does not grow with the number of rows. With D monomials in a node
    and F fields, a pass takes about ``2 n F D^2`` operations for the moments and ``n F D n_out``
    for the outputs.

    A constant field has no features: its outputs are 0 in all layers except the last, where they
    are omitted.

    Computations are in double precision; the output has the type of the input. The largest
    entry of each direction is positive.

    References
    ----------
    .. [1] L. Wiskott and T. J. Sejnowski, "Slow feature analysis: unsupervised learning of
       invariances", Neural Computation 14(4), 2002, pp. 715-770, section 4.3.
    .. [2] M. Franzius, H. Sprekeler and L. Wiskott, "Slowness and sparseness lead to place,
       head-direction, and spatial-view cells", PLoS Computational Biology 3(8), 2007, e166.
    .. [3] A. N. Escalante-B. and L. Wiskott, "How to solve classification and regression
       problems on high-dimensional data with a supervised extension of slow feature analysis",
       Journal of Machine Learning Research 14, 2013, pp. 3683-3719.

    Examples
    --------
    >>> from skmoderndata.datasets import make_moving_object
    >>> from skmoderndata.decomposition import HierarchicalSlowFeatureAnalysis
    >>> film = make_moving_object(n_sequences=4, n_steps=500, random_state=0)
    >>> hsfa = HierarchicalSlowFeatureAnalysis(4, image_shape=film.image_shape)
    >>> Y = hsfa.fit_transform(film.data, sequence_ids=film.sequence_ids)
    >>> Y.shape
    (2000, 4)
    >>> [layer.grid for layer in hsfa.layers_]
    [(7, 7), (3, 3), (1, 1)]
    """

    _card = MethodCard(
        family="slow features",
        cite=("wiskott2002slow", "franzius2007slowness", "escalante2013solve"),
        cost="n F D^2 per layer of F fields with D monomials",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "image_shape": [tuple, list, None],
        "layers": [tuple, list, None],
        "n_pre": [AT_LEAST_ONE, None],
        "n_out": [AT_LEAST_ONE],
        "degree": [AT_LEAST_ONE],
        "weight_sharing": ["boolean"],
        "noise_std": [NON_NEGATIVE],
        "clip": [POSITIVE, None],
        "allow_uncovered": ["boolean"],
        "rank_tol": [NON_NEGATIVE, None],
        "batch_size": [AT_LEAST_ONE, None],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }
    __metadata_request__fit = {"sequence_ids": True}
    # `sample_weight` is not used, but must be a known name because Pipeline.score always routes
    # it.
    __metadata_request__score = {"sequence_ids": True, "sample_weight": None}

    @parameters_are_named
    def __init__(
        self,
        n_components=8,
        *,
        image_shape=None,
        layers=None,
        n_pre=16,
        n_out=8,
        degree=2,
        weight_sharing=True,
        noise_std=0.0,
        clip=4.0,
        allow_uncovered=False,
        rank_tol=None,
        batch_size=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.image_shape = image_shape
        self.layers = layers
        self.n_pre = n_pre
        self.n_out = n_out
        self.degree = degree
        self.weight_sharing = weight_sharing
        self.noise_std = noise_std
        self.clip = clip
        self.allow_uncovered = allow_uncovered
        self.rank_tol = rank_tol
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sequence_ids=None):
        """Train the layers in order, from the input to the output.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Flattened images in temporal order.
        y : None
            Not used, present by convention.
        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row; steps between different sequences are ignored.

        Returns
        -------
        self : HierarchicalSlowFeatureAnalysis
            Trained network; if a callback stops the training, only the layers trained so far.
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        ids = _check_steps(sequence_ids, X, who="fit")
        self.image_shape_ = _check_shape(self.image_shape, X.shape[1])
        plans = self._plan_layers()

        rng = check_random_state(self.random_state)
        self.layers_ = ()
        with FitProgress(self, X, y, max_passes=len(plans), task_name="layer") as progress:
            for plan in plans:
                progress.begin()
                if self.layers_:
                    # The previous layer may have fewer outputs than planned.
                    below = self.layers_[-1]
                    plan = plan._replace(input_shape=below.output_shape)
                n_nodes = 1 if plan.shared else plan.n_fields
                seeds = rng.randint(np.iinfo(np.int32).max, size=n_nodes)
                nodes = self._train_layer(X, ids, plan, seeds)
                layer = self._finish_layer(plan, nodes)
                self.layers_ += (layer,)
                if progress.end():
                    break

        last = self.layers_[-1]
        # Shared nodes have the same delta value in every field.
        repeat = last.n_fields if last.shared else 1
        deltas = [node.delta_values for node in last.nodes]
        self.delta_values_ = np.concatenate(deltas * repeat)

        planned = plans[-1].n_out
        if not progress.stopped and last.n_out < planned:
            reason = f"the rank {last.n_out} of the expanded data of the last layer"
            warn_fewer(self, asked=planned, found=last.n_out, reason=reason)

        return self

    def _plan_layers(self):
        """Check all parameters; return the untrained layers with their geometry and sizes."""
        dicts = self.layers
        if dicts is None:
            dicts = [{}]
            if self.image_shape is not None:
                height, width, _ = self.image_shape_
                dicts = _default_fields(height, width)

        if len(dicts) == 0:
            raise ValueError("layers is empty: pass at least one dict, {} for a single field.")

        # the output of a layer is the image of the next layer
        plans = []
        shape = self.image_shape_
        for number, layer in enumerate(dicts):
            last = number == len(dicts) - 1
            defaults = {
                "field": shape[:2],
                "n_pre": self.n_pre,
                "n_out": self.n_components if last else self.n_out,
                "degree": self.degree,
                "weight_sharing": self.weight_sharing,
            }
            plan = _plan_layer(layer, defaults, shape, self.allow_uncovered, number)
            plans.append(plan)
            shape = plan.output_shape

        return plans

    def _train_layer(self, X, ids, plan, seeds):
        """Train the nodes of a layer, in groups of fields that fit in memory."""
        fields = plan.fields
        n_pre = plan.n_inputs
        if plan.n_pre is not None:
            n_pre = min(plan.n_pre, n_pre)
        n_monomials = PolynomialExpansion(n_pre, plan.degree).n_outputs
        size = max(n_monomials, plan.n_inputs)

        common = (X, ids, self.layers_, plan)
        chunk = self._chunk_rows((*self.layers_, plan), len(X))
        settings = {
            "chunk": chunk,
            "noise_std": self.noise_std,
            "clip": self.clip,
            "rank_tol": self.rank_tol,
        }

        if plan.shared:
            return _train_nodes(*common, [fields], seeds, **settings)

        # if nodes are separate, each job holds the moments of only one group of fields in memory
        jobs = effective_n_jobs(self.n_jobs)
        n = len(fields)
        at_once = max(int(_MOMENT_BYTES // (3 * FLOAT_BYTES * size**2)), 1)
        n_needed = -(-n // at_once)
        n_groups = min(max(jobs, n_needed), n)
        groups = np.array_split(np.arange(n), n_groups)
        train = delayed(_train_nodes)
        trained = Parallel(n_jobs=self.n_jobs)(
            train(*common, fields[group, None], seeds[group], **settings) for group in groups
        )
        return [node for nodes in trained for node in nodes]

    def _finish_layer(self, plan, nodes):
        n_out = max(len(node.components) for node in nodes)
        if n_out == 0:
            raise ValueError(
                f"HierarchicalSlowFeatureAnalysis: the input of layer {len(self.layers_)} is "
                "constant over the training rows, so there is nothing to learn. Check X."
            )
        return plan._replace(nodes=tuple(nodes), n_out=n_out)

    def _chunk_rows(self, layers, n):
        if self.batch_size is not None:
            return self.batch_size
        # count the values per row in each layer: its image, and the inputs and outputs of its
        # fields
        widths = []
        for layer in layers:
            n_field = layer.n_inputs + 2 * layer.n_out
            widths.append(np.prod(layer.input_shape) + layer.n_fields * n_field)
        return int(np.clip(TEMPORARY_BYTES // (FLOAT_BYTES * max(widths)), 1, n))

    @by_rows
    def transform(self, X):
        """Compute the outputs of the last layer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Flattened images, in any order.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
            Outputs, slowest first; grouped by field if the last layer has several fields.
        """
        check_is_fitted(self)
        X = self._check(X)
        return self._project(X)

    def _check(self, X):
        return validate_data(self, X, dtype=FLOATS, reset=False)

    def _project(self, X):
        n = len(X)
        last = self.layers_[-1]
        nodes = last.nodes * last.n_fields if last.shared else last.nodes

        # constant fields have fewer outputs
        sizes = np.array([len(node.components) for node in nodes])
        used = np.arange(last.n_out) < sizes[:, None]
        Y = np.empty((n, self._n_features_out), dtype=X.dtype)
        for rows in row_blocks(n, 1, limit=self._chunk_rows(self.layers_, n)):
            H = _forward(X[rows], self.image_shape_, self.layers_, self.clip)
            Y[rows] = H.reshape(len(H), -1)[:, used.ravel()]
        return Y

    @in_memory
    def score(self, X, y=None, *, sequence_ids=None):
        """Compute the negative mean slowness of the outputs on these rows.

        The slowness of an output is its mean squared step divided by its variance, both on these
        rows. It is between 0 and 4, and about 2 for white noise. More components score lower,
        because they add faster outputs; to choose `n_components`, use the score of a later step in
        a pipeline.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Flattened images in temporal order, with at least two of one sequence.
        y : None
            Not used, present by convention.
        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row.

        Returns
        -------
        score : float
            Negative mean slowness; a constant output counts as white noise.
        """
        check_is_fitted(self)
        X = self._check(X)
        ids = _check_steps(sequence_ids, X, who="score")
        Y = self._project(X).astype(np.float64, copy=False)

        # use only steps within sequences
        steps = np.diff(Y, axis=0)
        if ids is not None:
            within = ids[1:] == ids[:-1]
            steps = steps[within]

        # outputs without variance count as white noise, whose slowness is 2
        variance = Y.var(axis=0)
        slowness = np.full(len(variance), 2.0)
        smallest = ACCUMULATED_ROUNDING * np.abs(Y).max(axis=0)
        varies = variance > smallest**2
        mean_squares = np.mean(steps**2, axis=0)
        np.divide(mean_squares, variance, out=slowness, where=varies)
        return -float(slowness.mean())

    @property
    def _n_features_out(self):
        return len(self.delta_values_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SlowNode(NamedTuple):
    """Linear slow feature analysis, followed by polynomial slow feature analysis."""

    mean: np.ndarray
    pre: np.ndarray
    expanded_mean: np.ndarray
    components: np.ndarray
    delta_values: np.ndarray


class SlowLayer(NamedTuple):
    """Fields of one layer; `nodes` is empty before training, then one node or one per field."""

    input_shape: tuple[int, int, int]
    field: tuple[int, int]
    stride: tuple[int, int]
    grid: tuple[int, int]
    n_pre: int | None
    n_out: int
    degree: int
    shared: bool
    nodes: tuple[SlowNode, ...] = ()

    @property
    def output_shape(self):
        """Height, width and channels of the output."""
        return (*self.grid, self.n_out)

    @property
    def n_fields(self):
        """Number of fields."""
        return self.grid[0] * self.grid[1]

    @property
    def fields(self):
        """Row and column of each field in the grid, in C order."""
        return np.array(list(np.ndindex(self.grid)))

    @property
    def n_inputs(self):
        """Number of values in a field."""
        return self.field[0] * self.field[1] * self.input_shape[2]

    def patches(self, H, fields):
        """Return the values of one or all fields, (rows, fields, inputs), from (rows, h, w, c)."""
        (rh, rw) = self.field
        (sh, sw) = self.stride
        if len(fields) == 1:
            top, first_column = fields[0] * self.stride
            window = H[:, None, top : top + rh, first_column : first_column + rw]
            return window.reshape(len(H), 1, -1)
        windows = np.lib.stride_tricks.sliding_window_view(H, (rh, rw), axis=(1, 2))
        windows = windows[:, ::sh, ::sw]
        windows = windows.transpose(0, 1, 2, 4, 5, 3)  # shape (rows, grid, field, c)
        return windows.reshape(len(H), self.n_fields, -1)


def _check_steps(sequence_ids, X, *, who):
    """Check sequence ids; at least one step must lie within a sequence."""
    if sequence_ids is None:
        if len(X) < 2:
            raise ValueError(f"{who} needs at least two rows, got n_samples={len(X)}.")
        return None
    ids = check_ids(sequence_ids, X)
    within = ids[1:] == ids[:-1]
    if not within.any():
        raise ValueError(
            f"{who} needs two adjacent rows with the same label in sequence_ids, but every "
            "sequence has only one row."
        )
    return ids


def _check_shape(image_shape, n_features):
    if image_shape is None:
        return (1, n_features, 1)

    sizes = tuple(image_shape)
    positive = all(isinstance(size, Integral) and size >= 1 for size in sizes)
    if len(sizes) not in (2, 3) or not positive:
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width) or (height, width, channels), "
            "positive integers."
        )

    height, width, channels = (*sizes, 1)[:3]
    shape = (int(height), int(width), int(channels))
    if np.prod(shape, dtype=object) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {np.prod(shape, dtype=object)} values, but X has "
            f"{n_features} features."
        )
    return shape


def _default_fields(height, width):
    """Return fields of 3 (odd sizes) or 4 (even sizes), stride 2, until at most 4 x 4 remain."""
    layers = []
    sizes = (height, width)
    while max(sizes) > 4:
        field = tuple(s if s <= 4 else 3 + (s + 1) % 2 for s in sizes)
        stride = tuple(s if s <= 4 else 2 for s in sizes)
        layers.append({"field": field, "stride": stride})
        triples = zip(sizes, field, stride, strict=True)
        sizes = tuple((size - r) // step + 1 for size, r, step in triples)
    return [*layers, {}]


def _plan_layer(layer, defaults, shape, allow_uncovered, number):
    where = f"layers[{number}]"

    if not isinstance(layer, Mapping):
        raise TypeError(f"{where} must be a dict, got {layer!r}.")
    unknown = set(layer) - set(_LAYER_KEYS)
    if unknown:
        raise ValueError(
            f"{where} has unknown keys {sorted(unknown)}; the known keys are {_LAYER_KEYS}."
        )
    values = {**defaults, **layer}

    # fields must fit into the input, and must cover it unless `allow_uncovered` is True
    field = _pair(values["field"], f"{where}['field']")
    stride = _pair(values.get("stride", field), f"{where}['stride']")
    for axis, name in enumerate(("height", "width")):
        size = shape[axis]
        r = field[axis]
        s = stride[axis]
        if r > size:
            raise ValueError(
                f"{where}: fields of {name} {r} do not fit into an input of {name} {size}."
            )
        margin = (size - r) % s
        if (margin or s > r) and not allow_uncovered:
            raise ValueError(
                f"{where}: fields of {name} {r} at stride {s} leave parts of an input of {name} "
                f"{size} uncovered; change field or stride, or set allow_uncovered=True."
            )

    for key in ("n_pre", "n_out", "degree"):
        value = values[key]
        allowed = isinstance(value, Integral) and value >= 1
        if not allowed and not (key == "n_pre" and value is None):
            raise ValueError(
                f"{where}[{key!r}] must be an integer of at least 1, got {value!r}."
            )

    sharing = values["weight_sharing"]
    if not isinstance(sharing, bool | np.bool_):
        raise ValueError(f"{where}['weight_sharing'] must be True or False.")

    grid = tuple((shape[i] - field[i]) // stride[i] + 1 for i in range(2))
    return SlowLayer(
        input_shape=tuple(shape),
        field=field,
        stride=stride,
        grid=grid,
        n_pre=values["n_pre"],
        n_out=int(values["n_out"]),
        degree=int(values["degree"]),
        shared=bool(sharing),
    )


def _pair(value, name):
    pair = (value, value) if isinstance(value, Integral) else value
    valid = isinstance(pair, tuple | list) and len(pair) == 2
    valid = valid and all(isinstance(size, Integral) and size >= 1 for size in pair)
    if not valid:
        raise ValueError(
            f"{name} must be a positive integer or a pair of positive integers, got {value!r}."
        )
    first, second = pair
    return int(first), int(second)


def _train_nodes(X, ids, below, plan, groups, seeds, *, chunk, noise_std, clip, rank_tol):
    """Train one node for each group of fields, all in two passes over the rows.

    Patches of the F fields of a group are sorted by time, then by field. So a lag of F connects
    a patch to the next patch of the same field, also across chunks.
    """
    shape = (*below, plan)[0].input_shape

    def moments(expansions, prepare):
        pairs = zip(expansions, groups, strict=True)
        sums = [SlowMoments(e, lag=len(fields)) for e, fields in pairs]
        for rows in row_blocks(len(X), 1, limit=chunk):
            H = _forward(X[rows], shape, below, clip)
            for k, fields in enumerate(groups):
                if sums[k].expansion.n_inputs == 0:
                    continue  # The field is constant.
                patches = plan.patches(H, fields).reshape(-1, plan.n_inputs)
                repeated = None if ids is None else np.repeat(ids[rows], len(fields))
                sums[k].update(prepare(k, patches), sequence_ids=repeated)
        return sums

    # 1. find linear slow features, which reduce each field to `n_pre` values
    identity = PolynomialExpansion(plan.n_inputs, 1)
    linear = moments([identity] * len(groups), lambda k, P: P)
    stages = []
    for m in linear:
        pre, _ = _directions(m, plan.n_pre, rank_tol)
        stages.append((m.mean, pre))
    noise = [np.random.default_rng(seed) for seed in seeds]

    def reduced(k, P):
        mean, pre = stages[k]
        Z = (P - mean) @ pre.T
        if noise_std > 0:
            Z += noise_std * noise[k].standard_normal(Z.shape)
        if clip is None:
            return Z
        return np.clip(Z, -clip, clip, out=Z)

    # 2. find slow features of the expanded values; noise suppresses negligible variances
    expansions = [PolynomialExpansion(len(pre), plan.degree) for _, pre in stages]
    nodes = []
    expanded = moments(expansions, reduced)
    for (mean, pre), m in zip(stages, expanded, strict=True):
        components, delta_values = _directions(m, plan.n_out, rank_tol)
        nodes.append(SlowNode(mean, pre, m.mean, components, delta_values))
    return nodes


def _directions(moments, n_components, rank_tol):
    """Compute the slowest directions and their mean squared steps; none if no input varies."""
    if len(moments.mean) == 0:
        return np.empty((0, 0)), np.empty(0)

    # variances that may be rounding errors of the mean count as zero
    rounding = ROUNDING * np.abs(moments.mean)
    result = slow_directions(
        moments.covariance(),
        moments.step_moment(),
        n_components=n_components,
        rank_tol=rank_tol,
        floor=rounding**2,
        overwrite=True,
    )
    return result.components, result.delta_values


def _forward(X, shape, layers, clip):
    """Compute the outputs (rows, height, width, channels) of the last of these layers."""
    n = len(X)
    H = X.astype(np.float64).reshape(n, *shape)
    for layer in layers:
        if layer.shared:
            P = layer.patches(H, layer.fields).reshape(-1, layer.n_inputs)
            out = _apply(layer.nodes[0], P, layer.degree, clip)
        else:
            # apply each node to its field; a node may have fewer features than the layer
            out = np.zeros((n, layer.n_fields, layer.n_out))
            for f, node in enumerate(layer.nodes):
                P = layer.patches(H, layer.fields[f, None])[:, 0]
                Y = _apply(node, P, layer.degree, clip)
                out[:, f, : Y.shape[1]] = Y
        H = out.reshape(n, *layer.output_shape)
    return H


def _apply(node, P, degree, clip):
    """Compute the outputs of a node, (rows, n_out)."""
    if len(node.components) == 0:
        return np.empty((len(P), 0))

    expansion = PolynomialExpansion(len(node.pre), degree)
    offset = node.components @ node.expanded_mean

    # work in blocks of rows whose expansions stay in the cache
    n = len(P)
    Y = np.empty((n, len(node.components)))
    block = min(max(_CACHE_FLOATS // expansion.n_outputs, 64), n)
    buffer = np.empty((expansion.n_outputs, block))

    for rows in row_blocks(n, 1, limit=block):
        Z = node.pre @ (P[rows] - node.mean).T  # shape (n_pre, rows)
        if clip is not None:
            np.clip(Z, -clip, clip, out=Z)

        expanded = buffer[:, : Z.shape[1]]
        expansion.into(Z, expanded)
        Y[rows] = (node.components @ expanded).T
        Y[rows] -= offset
    return Y
