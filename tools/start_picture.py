"""Draw the six tasks of the start page as one picture, docs/_static/tasks.png, for README.

python tools/start_picture.py
"""

import io
import sys
from pathlib import Path

import matplotlib.image as mpimg
from matplotlib.figure import Figure

from skmoderndata._guide.suggest import knowledge

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "tools")]
PICTURE = ROOT / "docs" / "_static" / "tasks.png"


def main():
    from skmoderndata_site import figures

    pictures = {function.__name__: function for function in figures.FIGURES}
    figure = Figure(figsize=(12, 4.9), dpi=100, layout="constrained", facecolor="white")
    axes = figure.subplots(2, 3)
    for ax, task in zip(axes.flat, knowledge()["start"], strict=True):
        drawn = figures.draw(pictures[task["picture"]])
        ax.imshow(mpimg.imread(io.BytesIO(drawn)))
        ax.set_title(f"{task['problem']}:\n{', '.join(task['take'])}", fontsize=11)
        ax.axis("off")
    figure.savefig(PICTURE, metadata={"Software": None})


if __name__ == "__main__":
    main()
