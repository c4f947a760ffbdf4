"""Checks of scikit-learn that cannot pass, and why; the pages of the methods list them."""

LABELS = (
    "one-dimensional class labels are not accepted as a second view. In use: `GridSearchCV` and "
    "`Pipeline` with labels as y need `view_slices`"
)
# scikit-learn exempts its own classes with two views from these checks by name.
PAIRS = dict.fromkeys(
    (
        "check_transformer_general",
        "check_transformer_data_not_an_array",
        "check_transformer_preserve_dtypes",
    ),
    f"fit_transform(X, Y) returns a pair, like scikit-learn's CCA, and {LABELS}",
) | dict.fromkeys(
    (
        "check_global_output_transform_pandas",
        "check_global_set_output_transform_polars",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
    ),
    "fit_transform(X, Y) returns a pair, and set_output changes only the first array. In use: "
    "in a `Pipeline` only `view_slices` gives a data frame with the scores of all views",
)
TWO_VIEWS = PAIRS | {"check_transformer_n_iter": LABELS}
NO_LABELS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "predict gives memberships, a Boolean matrix, as a row may have several components. In use: "
    "scores of one label for each row, such as `adjusted_rand_score` in `GridSearchCV`, fail; "
    "`score` works",
)
WEIGHTS_ARE_NO_COPIES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "leave-one-out omits a sample with its "
    "full weight, but only one of several equal rows, so the penalty may differ. In use: "
    "`BaggingClassifier` and `BaggingRegressor`, which weight rows instead of copying them, may "
    "choose another penalty; if `alpha` is a number, weights are equivalent to copies"
    for kind in ("dense", "sparse")
}
STEPS_ARE_NO_COPIES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight multiplies the step of a "
    "mistake, whereas a copy of the sample is processed after that step. In use: "
    "`AdaBoostClassifier` and `BaggingClassifier` get other machines from weights than from draws "
    "of rows, with similar accuracy"
    for kind in ("dense", "sparse")
}
PLACES_DEPEND_ON_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "centres are drawn from the rows, and "
    "leave-one-out omits only one of several equal rows. In use: `BaggingRegressor` and "
    "`BaggingClassifier` mark repeated draws by weights, so rows that are drawn often are no more "
    "likely than others to become centres"
}

KNOWN_FAILURES = {
    "CompressedSensing": {
        "check_transformer_n_iter": "max_iter limits the steps of the recovery in "
        "inverse_transform; a fit has no steps. In use: there is no n_iter_ after `fit`, and "
        "nothing else is missing"
    },
    "CoreVectorOutlierDetector": dict.fromkeys(
        ("check_outliers_train", "check_outliers_fit_predict"),
        "contamination is the rate among new samples, by held-out scores; the check wants it "
        "among training samples, which score higher for a machine that has seen them. In use: "
        "`fit_predict` on the samples of `fit` flags a fraction below contamination, and "
        "`predict` on new samples about that fraction",
    ),
    "DictionaryClassifier": {
        "check_classifiers_train": "only the directions of samples matter, and the check has "
        "three clouds in a plane, one of them around zero. In use: after `StandardScaler`, "
        "and for classes that are clouds around the origin, accuracy is lost; use `SVC`",
    },
    "DiscreteBasis": NO_LABELS,
    "ELMClassifier": WEIGHTS_ARE_NO_COPIES,
    "ELMRegressor": WEIGHTS_ARE_NO_COPIES,
    "FormalConceptFactorization": NO_LABELS,
    "KernelCCA": TWO_VIEWS,
    "KernelCentroidOutlierDetector": dict.fromkeys(
        ("check_outliers_train", "check_outliers_fit_predict"),
        "contamination is the rate among new samples, by leave-one-out distances; the check "
        "expects it among training samples, which are closer to a mean that they belong to. "
        "In use: `fit_predict` on the samples of `fit` flags a fraction below contamination",
    ),
    "KernelKMeans": dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "the starts are drawn by position, so that copies of a row change them; the objective "
        "of given clusters is the same. In use: `fit_predict` with integer weights may end in "
        "another local optimum than with copies; a larger `n_init` makes it rare",
    ),
    "KernelNormalizer": {
        "check_positive_only_tag_during_fit": "a kernel matrix may have negative entries, "
        "but not on its diagonal, where the check puts some. In use: indefinite matrices need "
        "`SpectrumCorrector` as the previous step in a `Pipeline`",
    },
    "KernelPerceptron": STEPS_ARE_NO_COPIES,
    "MinimumEnclosingBall": {
        "check_outliers_train": "the ball holds all training samples, so none is an outlier. "
        "In use: `decision_function` of the training samples is nowhere negative; for a rate "
        "of outliers take SVDD",
        "check_outliers_fit_predict": "the ball holds all training samples: all are inside. "
        "In use: `fit_predict` returns ones only",
    },
    "MultiAssignmentClustering": dict.fromkeys(
        ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
        "predict gives memberships, a Boolean matrix, as a row may have several clusters. In "
        "use: `adjusted_rand_score` and others that compare one label for each row refuse "
        "them; `score` works",
    ),
    "RBFNetworkClassifier": PLACES_DEPEND_ON_ROWS,
    "RBFNetworkRegressor": PLACES_DEPEND_ON_ROWS,
    "RegularizedCCA": TWO_VIEWS,
    "RoleMiner": NO_LABELS,
    "RoundedSVD": NO_LABELS,
    "SVDD": dict.fromkeys(
        ("check_outliers_train", "check_outliers_fit_predict"),
        "contamination is the rate among new samples, by held-out distances; the check wants "
        "it among training samples, which lie nearer to a centre that they have determined. "
        "In use: of the samples of `fit` fewer than the fraction contamination are flagged, "
        "of new ones about that fraction",
    ),
    "SparseCCA": TWO_VIEWS,
    "SparseGaussianProcessClassifier": {
        "check_sample_weight_equivalence_on_dense_data": "the sums agree up to rounding "
        "errors, which the optimiser enlarges; a test compares them at fixed "
        "hyperparameters. In use: `BaggingClassifier`, which passes weights, gives "
        "hyperparameters that differ in late digits from the hyperparameters with copies"
    },
    "SparseGaussianProcessRegressor": {
        "check_sample_weight_equivalence_on_dense_data": "the sums agree up to rounding "
        "errors, which the optimiser enlarges; a test compares them at fixed "
        "hyperparameters. In use: `BaggingRegressor`, which passes weights, gives "
        "hyperparameters that differ in late digits from the hyperparameters with copies"
    },
    "SparseRepresentationClassifier": {
        "check_non_transformer_estimators_n_iter": "max_iter bounds the steps of coding, "
        "which takes place in predict; fit takes no steps. In use: there is no n_iter_ after "
        "`fit`; `predict` warns about codes that did not converge"
    },
    "SupportFeatureMachine": {
        f"check_sample_weight_equivalence_on_{kind}_data": "weights are divided by their "
        "mean, so that those of any common scale mean the same; a copy of a sample adds to "
        "the slack in total. In use: `AdaBoostClassifier` works; integer weights in place of "
        "copies, as `BaggingClassifier` gives them, mean a smaller C than the copies would"
        for kind in ("dense", "sparse")
    },
    "TimeDelayEmbedding": {
        "check_methods_sample_order_invariance": "rows are time: a window holds earlier rows. "
        "In use: folds that shuffle rows, such as the folds of `ShuffleSplit`, mix times; use "
        "`TimeSeriesSplit`",
        "check_methods_subset_invariance": "rows are time: a window holds earlier rows. In "
        "use: the first rows of a batch or fold, in `cross_val_predict` too, have incomplete "
        "windows; `transform` longer stretches",
    },
}


def known_failures(cls):
    """Return the names of the checks that a class cannot pass, and the reasons."""
    return KNOWN_FAILURES.get(cls.__name__, {})
