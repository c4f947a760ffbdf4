"""Extreme learning machines: random neurons and ridge regression."""

from skmoderndata._estimator.compat import StrOptions
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.neural_network._base import (
    NetworkClassifier,
    NetworkRegressor,
)
from skmoderndata.neural_network._random_base import RANDOM_LAYER, RandomNetwork


class ELMRegressor(NetworkRegressor, RandomNetwork):
    r"""Extreme learning machine for regression: random hidden neurons and ridge output weights.

    It minimises [1]_

    .. math::
        \sum_{i=1}^n \bigl(y_i - v' g(W' x_i + b) - c\bigr)^2 + \alpha \|v\|^2

    over the output weights v and the constant c; the weights W and b of the neurons are random and
    fixed. The exact leave-one-out error chooses the penalty.

    Parameters
    ----------
    n_hidden : int, default=500
        Number of neurons. 0 with `direct_links` leaves ridge regression on the inputs.
    activation : str or callable, default="tanh"
        Function of the neurons: "tanh", "sigmoid", "relu", "sin", "gaussian" or "identity"; or a
        callable that accepts and returns an array.
    weight_distribution : {"uniform", "normal", "orthogonal"}, default="uniform"
        Distribution of the random weights. All have norms of about `input_scale`, so that
        standardised inputs give arguments of order one; the usual weights between -1 and 1 would
        saturate the neurons if there are many inputs. "orthogonal" draws blocks of orthogonal
        weights.
    input_scale : float or "loo", default=1.0
        Scale of the weights, and bound of the neurons' intercepts: larger values make the
        functions less smooth. "loo" chooses one of 1/8, 1/4, ..., 8 by leave-one-out, on up to
        5000 samples.
    direct_links : bool, default=False
        Whether the standardised inputs also go to the output layer, as in a random vector
        functional link [5]_. The links help if much of the relation is linear; about 200 neurons
        are then enough.
    standardize : bool or pair of ndarray of shape (n_features,), default=True
        Whether to subtract the mean of each input and divide by three standard deviations, so that
        the origin and the units do not matter. A stream uses the mean and standard deviation of
        its first 200 rows. A pair contains both; estimators with the same pair, or with False, can
        be merged. False may be better if all columns have the same unit, as pixels do.
    alpha : {"loo"} or float, default="loo"
        Ridge penalty. "loo" chooses one of `alphas` by the best exact leave-one-out r^2 (mean
        over targets). 0 gives the coefficients of minimum norm.
    alphas : array-like, default=None
        Penalties that "loo" compares. None means 25 of them from 1e-6 to 1e6 times the mean
        variance of an output, times the number of samples.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    prune : {"loo"} or None, default=None
        "loo" keeps the neurons chosen by forward selection with orthogonal least squares;
        leave-one-out determines their number. All direct links stay.
    batch_size : int, default=None
        Number of samples whose hidden outputs are held in memory. None means 4 MB of outputs, or
        as many samples as neurons.
    random_state : int, RandomState instance or None, default=None
        Controls the random weights. With an int, estimators draw equal weights and can be merged.
    n_jobs : int, default=None
        Number of threads over blocks of samples, in addition to BLAS threads.

    Attributes
    ----------
    input_mean_, input_std_ : ndarray of shape (n_features,)
        Means and standard deviations by which the inputs were standardised; None with
        `standardize=False`.
    input_scale_ : float
        Scale of the weights.
    hidden_weights_ : ndarray of shape (n_features, n_hidden)
        Weights of the neurons, for inputs that are not standardised.
    hidden_intercepts_ : ndarray of shape (n_hidden,)
        Their intercepts.
    output_coef_ : ndarray of shape (n_outputs,) or (n_targets, n_outputs)
        Weights of the neurons' outputs, by neuron. With `direct_links` the weights of the inputs
        come first.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant.
    alpha_ : float
        Penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties compared, with `alpha="loo"`.
    loo_score_ : float
        Leave-one-out r^2 (mean over targets) at `alpha_`, with `alpha="loo"`. It is slightly
        optimistic, because it was used to choose `alpha_`.
    loo_path_ : ndarray of shape (n_alphas,)
        Leave-one-out scores of all penalties; -inf if a single sample determines a coefficient.
    n_parameters_ : float
        Effective number of coefficients, the sum of ``s / (s + alpha)`` over the eigenvalues s.
    optimality_ : float
        Certificate: norm of the gradient, relative to the norm at zero coefficients.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    RBFNetworkRegressor : Neurons with centres instead of random directions.
    sklearn.neural_network.MLPRegressor : Trains the first layer as well.
    sklearn.linear_model.RidgeCV : The same output layer for given features.
    sklearn.kernel_approximation.RBFSampler : Random features of the Gaussian kernel.

    Notes
    -----
    With H the hidden outputs, ``H'H`` and ``H'y`` are added up over blocks of samples; memory is
    ``n_outputs^2`` and one block. The eigenvectors of ``H'H`` then give, in a second pass over the
    blocks, the leave-one-out predictions of all penalties by two matrix products [2]_: the choice
    of the penalty doubles the cost of a fit. They are exact for ridge regression with a free
    intercept. A weighted sample is left out with its whole weight.

    The sums add up: `partial_fit` and `merge` are exact, in any order. With ``alpha="loo"`` they
    choose the penalty again from the sums of all samples, as the one with the least error of
    generalised cross-validation [4]_, which replaces the leverage of each sample by the mean
    leverage (`loo_score_` and `loo_path_` then do not exist). The recursive update of online
    sequential learning machines gives the same coefficients with more work and growing rounding
    errors.

    If the activation is a name and array API dispatch is enabled in scikit-learn, arrays of other
    libraries are used as they are, and fitted attributes have their type. The sums are formed in
    double precision, whatever the type of X.

    References
    ----------
    .. [1] Huang, Zhu and Siew, Extreme learning machine: theory and applications, Neurocomputing
       70(1-3), 2006.
    .. [2] Allen, The relationship between variable selection and data augmentation and a method
       for prediction, Technometrics 16(1), 1974.
    .. [3] Miche, Sorjamaa, Bas, Simula, Jutten and Lendasse, OP-ELM: optimally pruned extreme
       learning machine, IEEE Transactions on Neural Networks 21(1), 2010: `prune`.
    .. [4] Golub, Heath and Wahba, Generalized cross-validation as a method for choosing a good
       ridge parameter, Technometrics 21(2), 1979, equation 1.4.
    .. [5] Pao, Park and Sobajic, Learning and generalization characteristics of the random vector
       functional-link net, Neurocomputing 6(2), 1994: `direct_links`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skmoderndata.neural_network import ELMRegressor
    >>> X, y = make_friedman1(400, noise=0.5, random_state=0)
    >>> model = ELMRegressor(100, random_state=0).fit(X, y)
    >>> round(model.loo_score_, 2)
    0.81
    """

    _card = MethodCard(
        family="networks",
        cite=(
            "huang2006extreme",
            "allen1974relationship",
            "miche2010opelm",
            "pao1994learning",
        ),
        cost="n L^2 + L^3, L outputs of the first layer",
        fits_blocks=True,
        method="elm",
        tier="standard",
        instead="Nystroem or RBFSampler with RidgeCV is just as accurate: random kernel features "
        "work as well as random neurons.",
    )
    _parameter_constraints = RANDOM_LAYER

    @parameters_are_named
    def __init__(
        self,
        n_hidden=500,
        *,
        activation="tanh",
        weight_distribution="uniform",
        input_scale=1.0,
        direct_links=False,
        standardize=True,
        alpha="loo",
        alphas=None,
        fit_intercept=True,
        prune=None,
        batch_size=None,
        random_state=None,
        n_jobs=None,
    ):
        self.n_hidden = n_hidden
        self.activation = activation
        self.weight_distribution = weight_distribution
        self.input_scale = input_scale
        self.direct_links = direct_links
        self.standardize = standardize
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.prune = prune
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs


class ELMClassifier(NetworkClassifier, RandomNetwork):
    r"""Extreme learning machine for classification: random neurons and ridge output weights.

    It minimises [1]_

    .. math::
        \sum_{i=1}^n \bigl(t_i - v' g(W' x_i + b) - c\bigr)^2 + \alpha \|v\|^2

    over the output weights v and the constant c, with :math:`t_i = \pm 1` for each class; the
    weights W and b of the neurons are random and fixed. The exact leave-one-out error chooses the
    penalty.

    Parameters
    ----------
    n_hidden : int, default=500
        Number of neurons. 0 with `direct_links` leaves ridge regression on the inputs.
    activation : str or callable, default="tanh"
        Function of the neurons: "tanh", "sigmoid", "relu", "sin", "gaussian" or "identity"; or a
        callable that accepts and returns an array.
    weight_distribution : {"uniform", "normal", "orthogonal"}, default="uniform"
        Distribution of the random weights. All have norms of about `input_scale`, so that
        standardised inputs give arguments of order one; the usual weights between -1 and 1 would
        saturate the neurons if there are many inputs. "orthogonal" draws blocks of orthogonal
        weights.
    input_scale : float or "loo", default=1.0
        Scale of the weights, and bound of the neurons' intercepts: larger values make the
        functions less smooth. "loo" chooses one of 1/8, 1/4, ..., 8 by leave-one-out, on up to
        5000 samples.
    direct_links : bool, default=False
        Whether the standardised inputs also go to the output layer, as in a random vector
        functional link [4]_. The links help if much of the relation is linear; about 200 neurons
        are then enough.
    standardize : bool or pair of ndarray of shape (n_features,), default=True
        Whether to subtract the mean of each input and divide by three standard deviations, so that
        the origin and the units do not matter. A stream uses the mean and standard deviation of
        its first 200 rows. A pair contains both; estimators with the same pair, or with False, can
        be merged. False may be better if all columns have the same unit, as pixels do.
    alpha : {"loo"} or float, default="loo"
        Ridge penalty. "loo" chooses one of `alphas` by the best exact leave-one-out accuracy.
        0 gives the coefficients of minimum norm.
    alphas : array-like, default=None
        Penalties that "loo" compares. None means 25 of them from 1e-6 to 1e6 times the mean
        variance of an output, times the number of samples.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    prune : {"loo"} or None, default=None
        "loo" keeps the neurons chosen by forward selection with orthogonal least squares;
        leave-one-out determines their number. All direct links stay.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives all classes the same total weight.
    batch_size : int, default=None
        Number of samples whose hidden outputs are held in memory. None means 4 MB of outputs, or
        as many samples as neurons.
    random_state : int, RandomState instance or None, default=None
        Controls the random weights. With an int, estimators draw equal weights and can be merged.
    n_jobs : int, default=None
        Number of threads over blocks of samples, in addition to BLAS threads.

    Attributes
    ----------
    input_mean_, input_std_ : ndarray of shape (n_features,)
        Means and standard deviations by which the inputs were standardised; None with
        `standardize=False`.
    input_scale_ : float
        Scale of the weights.
    hidden_weights_ : ndarray of shape (n_features, n_hidden)
        Weights of the neurons, for inputs that are not standardised.
    hidden_intercepts_ : ndarray of shape (n_hidden,)
        Their intercepts.
    output_coef_ : ndarray of shape (1, n_outputs) or (n_classes, n_outputs)
        Weights of the neurons' outputs, by neuron. With `direct_links` the weights of the inputs
        come first.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constant.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    alpha_ : float
        Penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties compared, with `alpha="loo"`.
    loo_score_ : float
        Leave-one-out accuracy at `alpha_`, with `alpha="loo"`. It is slightly optimistic, because
        it was used to choose `alpha_`.
    loo_path_ : ndarray of shape (n_alphas,)
        Leave-one-out scores of all penalties; -inf if a single sample determines a coefficient.
    n_parameters_ : float
        Effective number of coefficients, the sum of ``s / (s + alpha)`` over the eigenvalues s.
    optimality_ : float
        Certificate: norm of the gradient, relative to the norm at zero coefficients.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    RBFNetworkClassifier : Neurons with centres instead of random directions.
    sklearn.neural_network.MLPClassifier : Trains the first layer as well.
    sklearn.linear_model.RidgeClassifierCV : The same output layer for given features.
    sklearn.kernel_approximation.RBFSampler : Random features of the Gaussian kernel.

    Notes
    -----
    The exact leave-one-out error [2]_ chooses the penalty. The notes of :class:`ELMRegressor` on
    cost, `partial_fit` and `merge`, and arrays of other libraries apply here too.

    References
    ----------
    .. [1] Huang, Zhu and Siew, Extreme learning machine: theory and applications, Neurocomputing
       70(1-3), 2006.
    .. [2] Allen, The relationship between variable selection and data augmentation and a method
       for prediction, Technometrics 16(1), 1974.
    .. [3] Miche, Sorjamaa, Bas, Simula, Jutten and Lendasse, OP-ELM: optimally pruned extreme
       learning machine, IEEE Transactions on Neural Networks 21(1), 2010: `prune`.
    .. [4] Pao, Park and Sobajic, Learning and generalization characteristics of the random vector
       functional-link net, Neurocomputing 6(2), 1994: `direct_links`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.neural_network import ELMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ELMClassifier(300, standardize=False, random_state=0)
    >>> model = model.fit(X / 16, y)
    >>> round(model.loo_score_, 2)
    0.99
    """

    _card = MethodCard(
        family="networks",
        cite=(
            "huang2006extreme",
            "allen1974relationship",
            "miche2010opelm",
            "pao1994learning",
        ),
        cost="n L^2 + L^3, L outputs of the first layer",
        fits_blocks=True,
        method="elm",
        tier="standard",
        instead="Nystroem or RBFSampler with RidgeClassifierCV is just as accurate: random kernel "
        "features work as well as random neurons.",
    )
    _parameter_constraints = {
        **RANDOM_LAYER,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @parameters_are_named
    def __init__(
        self,
        n_hidden=500,
        *,
        activation="tanh",
        weight_distribution="uniform",
        input_scale=1.0,
        direct_links=False,
        standardize=True,
        alpha="loo",
        alphas=None,
        fit_intercept=True,
        prune=None,
        class_weight=None,
        batch_size=None,
        random_state=None,
        n_jobs=None,
    ):
        self.n_hidden = n_hidden
        self.activation = activation
        self.weight_distribution = weight_distribution
        self.input_scale = input_scale
        self.direct_links = direct_links
        self.standardize = standardize
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.prune = prune
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
