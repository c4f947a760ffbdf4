"""Value and gradient of the bound that a sparse Gaussian process maximises."""

import numpy as np

from benchmarks.peers import Case, Contender, Target

LARGE = "20,000 x 8, 200 inducing"
NOISE = 0.1


def work(size, rng):
    """Standardised targets, the first samples as inducing inputs, and hyperparameters."""
    n, m = size
    X = rng.uniform(size=(n, 8))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    y += 5 * X[:, 4] + rng.normal(size=n)
    return {"X": X, "y": (y - y.mean()) / y.std(), "Z": X[:m], "scales": np.full(8, 0.7)}


def quality(data, found):
    value, gradient = found
    return {"bound": float(value), "gradient": float(np.linalg.norm(gradient))}


def ours(data):
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    from skmoderndata.gaussian_process import SparseGaussianProcessRegressor

    X = data["X"]
    y = data["y"]
    m = len(data["Z"])
    model = SparseGaussianProcessRegressor(
        ConstantKernel(1.0) * RBF(data["scales"]),
        inducing=data["Z"],
        noise_level=NOISE,
        optimizer=None,
        normalize_y=False,
    ).fit(X[:m], y[:m])
    theta = np.r_[model.kernel_.theta, np.log(NOISE)]
    return model.log_marginal_likelihood(theta, eval_gradient=True, X=X, y=y)


def gpy(data):
    import GPy

    kernel = GPy.kern.RBF(8, variance=1.0, lengthscale=data["scales"], ARD=True)
    inference = GPy.inference.latent_function_inference.VarDTC()
    noise = GPy.likelihoods.Gaussian(variance=NOISE)
    # compute value and gradient once; SparseGPRegression would first do so for its own noise
    model = GPy.core.SparseGP(
        data["X"],
        data["y"][:, None],
        data["Z"].copy(),
        kernel,
        noise,
        inference_method=inference,
    )
    return float(np.squeeze(model.log_likelihood())), model.gradient


def gpytorch_sgpr(data):
    import gpytorch
    import torch

    class Sparse(gpytorch.models.ExactGP):
        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=8))
            base.outputscale = 1.0
            base.base_kernel.lengthscale = torch.tensor(data["scales"])
            Z = torch.tensor(data["Z"])
            self.covar_module = gpytorch.kernels.InducingPointKernel(base, Z, likelihood)
            self.covar_module.inducing_points.requires_grad_(False)

        def forward(self, X):
            mean = self.mean_module(X)
            covariance = self.covar_module(X)
            return gpytorch.distributions.MultivariateNormal(mean, covariance)

    X = torch.tensor(data["X"])
    y = torch.tensor(data["y"])
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Sparse(X, y, likelihood).double()
    likelihood.noise = NOISE
    model.train()
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(X), y) * len(y)
    bound.backward()
    grads = [p.grad.reshape(-1) for p in model.parameters() if p.grad is not None]
    return float(bound.detach()), torch.cat(grads).numpy()


def _twice(rows):
    found = {(r.contender, r.size): r for r in rows if r.ratio is not None}
    ratios = {c: found[c, s].ratio for c, s in found if s == LARGE and c != CASE.ours}
    if not ratios:
        return None, "no peer measured"
    return min(ratios.values()) >= 2, ", ".join(
        f"{c} {r:.3g} times" for c, r in ratios.items()
    )


def _equal(rows):
    values = [r.value("bound") for r in rows if r.size == LARGE and r.ratio is not None]
    if len(values) < 2:
        return None, "no peer measured"
    off = (max(values) - min(values)) / abs(values[0])
    return off < 1e-5, f"relative difference {off:.1e}"


CASE = Case(
    title="Bound of a sparse Gaussian process",
    question="How long does it take to compute the bound and its gradient once?",
    remarks=(
        "All contenders compute Titsias' bound at given hyperparameters and inducing inputs, "
        "and its gradient with respect to the hyperparameters; the time includes setting up the "
        "model. `gpytorch` needs torch; the CPU version is sufficient."
    ),
    ours="SparseGaussianProcessRegressor",
    sizes={
        "200 x 8, 20 inducing": (200, 20),
        "2,000 x 8, 100 inducing": (2000, 100),
        LARGE: (20_000, 200),
    },
    quick_sizes={"1,000 x 8, 50 inducing": (1000, 50)},
    warmup=(300, 20),
    work=work,
    contenders={
        "SparseGaussianProcessRegressor": Contender(
            run=ours, peer=False, note="`log_marginal_likelihood`"
        ),
        "GPy": Contender(run=gpy, requires="GPy>=1.13", note="`SparseGP` with `VarDTC`"),
        "gpytorch": Contender(
            run=gpytorch_sgpr,
            requires="gpytorch>=1.15",
            note="`InducingPointKernel` in double precision (float64)",
        ),
    },
    quality=quality,
    figures={
        "bound": "value of the bound, which is the same for all contenders up to the jitter",
        "gradient": "norm of the gradient, which depends on the parametrisation",
    },
    targets=(
        Target(text="at least twice as fast as each peer for 20,000 samples", check=_twice),
        Target(text="the bound is the same as with the peers", check=_equal),
    ),
    repeat=3,
)
