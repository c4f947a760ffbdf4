"""
Which components can you trust?
===============================

A robust principal component analysis of 178 wines returns as many components as you request, and
each has an entry for all 13 chemical measurements. Other wines from the same cellars would give
other components. Which components would look the same, and which of their entries?
"""

# %%
# The bootstrap replaces other wines by wines drawn with replacement. The components of each refit
# are matched with the components of the fit of all wines, whatever their order and signs. Bars
# contain 95 % of the refits.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from skmoderndata.decomposition import RobustPCA
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.inspection import ComponentsDisplay, bootstrap_components

wine = load_wine(as_frame=True).data
X = (wine - wine.mean()) / wine.std()

result = bootstrap_components(RobustPCA(n_components=3), X, n_bootstraps=100, random_state=0)
display = ComponentsDisplay.from_result(result)
display.figure_.set_size_inches(7, 7)
plt.show()

# %%
# Flavanoids and phenols are in the first component whatever wines are drawn. The bars of ash
# and color intensity contain 0 there: do not interpret these entries. Other wines could give a
# very different third component.
#
# The function works with every estimator that has `components_`. How many components of
# scikit-learn's PCA are stable? Components whose singular values are nearly equal rotate within
# the span of all components, and a warning names them.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DoubtfulResultWarning)
    more = bootstrap_components(PCA(8), X, n_bootstraps=100, random_state=0)
for warning in caught:
    print(warning.message)

table = pd.DataFrame({"alone": more.stability, "subspace": more.subspace_stability})
print(table.round(2))

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
positions = np.arange(len(table))
ax.bar(positions - 0.2, table["alone"], width=0.4, label="component")
ax.bar(positions + 0.2, table["subspace"], width=0.4, label="subspace of all components")
ax.set(xlabel="component", ylabel="stability (mean cosine)", xticks=positions, ylim=(0, 1.05))
ax.legend(loc="lower left")
plt.show()

# %%
# The first two or three components can be named and reported. The later ones mix with each other
# from one draw of wines to the next, although most of them together span the same subspace.
# Stability is not correctness: the bootstrap measures spread but not bias.
