"""Ten digits classified by the step itself, pixels between 0 and 1."""

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.compare.problem import STEP, Problem
from benchmarks.compare.problems.digit_classes import load, plot


def between_0_and_1(X):
    return X / 16


def pipeline(step):
    return Pipeline([("scale", FunctionTransformer(between_0_and_1)), (STEP, step)])


PROBLEM = Problem(
    title="digits, ten classes, scaled",
    description="The method itself classifies images of ten digits, with pixels divided by 16. "
    "The picture counts the errors on unseen rows.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
