"""
What should you know about a table before you use it?
=====================================================

The table contains chemical measurements of 178 wines. Three numbers were typed wrongly, and a
sensor failed now and then. Does a single call find the errors, and everything else worth
knowing?
"""

# %%
# In two cells the decimal point is missing, and in one it is in the wrong place. Two columns
# come from the same instrument, which failed for some of the wines. A column has been entered
# twice, in other units.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from skmoderndata import report

rng = np.random.default_rng(0)
X = load_wine(as_frame=True).data
X["alcohol_proof"] = 1.75 * X["alcohol"] + 0.05 * rng.normal(size=len(X))
X.loc[5, "alcalinity_of_ash"] *= 10
X.loc[90, "magnesium"] *= 10
X.loc[121, "ash"] *= 10
failed = rng.random(len(X)) < 0.15
X.loc[failed, ["flavanoids", "proanthocyanins"]] = np.nan

# %%
# The page has a section for everything that is significant at a level of 0.01. A notebook shows
# it, and ``page.save("wine.html")`` writes it into one file.

page = report(X)
page

# %%
# Print the same findings as text. The broken cells are listed by name, with the values
# expected from the other cells.

for finding in page.findings:
    print(f"{finding.title}: {finding.text}")
    for line in finding.lines[:3]:
        print("   ", *line)

# %%
# A table of pure noise gives an empty page.

noise = report(rng.normal(size=(178, 14)))
print(noise)

# %%
# The largest errors of the broken cells are far beyond anything that noise could cause.

cells = next(one for one in page.findings if one.name == "cells").lines
labels = [f"wine {row}, {column}" for row, column, *_ in cells]
deviations = [float(size) for *_, size in cells]

fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
ax.barh(labels, deviations)
ax.invert_yaxis()
ax.set(xlabel="distance from the expected value, in deviations of the noise")
plt.show()
