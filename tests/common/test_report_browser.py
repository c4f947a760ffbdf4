"""A saved report in a browser: no errors, visible pictures, and nothing cut off."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pandas as pd
import pytest

import skmoderndata

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=60000",
]
# Setting of the browser for each colour scheme that a page may ask for
SCHEMES = {"light": 1, "dark": 0}
# Minimum contrast of text and background [WCAG 2.2, level AA]
MIN_CONTRAST = 4.5
SCRIPT = """
<script>
window.addEventListener("load", async () => {
  const luminance = (color) => {
    const [r, g, b] = color.match(/\\d+/g).slice(0, 3).map((value) => {
      const c = value / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (element, ground) => {
    const pair = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
    const [low, high] = pair.map(luminance).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const images = [...document.images, ...document.querySelectorAll("svg image")];
  const widths = await Promise.all(images.map(async (image) => {
    const loaded = new Image();
    loaded.src = image.src || image.href.baseVal;
    await loaded.decode().catch(() => null);
    return loaded.naturalWidth;
  }));
  const cut = [...document.querySelectorAll("svg text")].filter((text) => {
    const [box, frame] = [text, text.closest("svg")].map((e) => e.getBoundingClientRect());
    return box.left < frame.left - 1 || box.right > frame.right + 1;
  });
  const report = document.querySelector(".skmoderndata-report");
  const texts = [...report.querySelectorAll("h1, p, td")];
  const measures = document.createElement("script");
  measures.type = "application/json";
  measures.id = "measures";
  measures.textContent = JSON.stringify({
    window: innerWidth,
    page: document.documentElement.scrollWidth,
    pictures: [...document.querySelectorAll("svg")].map((e) => e.getBoundingClientRect().width),
    images: widths,
    cut: cut.map((text) => text.textContent),
    contrast: Math.min(...texts.map((text) => contrast(text, report))),
    dark: luminance(getComputedStyle(report).backgroundColor) < 0.2,
  });
  document.body.append(measures);
});
</script>
"""

pytestmark = [
    pytest.mark.full,
    pytest.mark.edge,
    pytest.mark.skipif(BROWSER is None, reason="needs chromium"),
]


def sensors(name, n=200, p=12):
    """Related columns with gaps, broken cells, different scales, drift, a copy, and roles."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.1 * rng.normal(size=(n, p))
    X[rng.random(X.shape) < 0.01] += 40.0
    X *= np.geomspace(1, 1e6, p)
    X[:, 1] += 1e3 * np.linspace(0, 3, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    rights = (rng.random((n, 1)) < 0.4) & (rng.random((n, 4)) < 0.9)
    X = np.column_stack([X, 2 * X[:, 0], rights])
    return pd.DataFrame(X, columns=[f"{name}{j}" for j in range(X.shape[1])])


@pytest.fixture(
    scope="module", params=["sensor ", "Umgebungstemperatur_der_Messstelle_in_Grad_"]
)
def saved(request, tmp_path_factory):
    """Return the number of findings, and a saved page that measures itself."""
    page = skmoderndata.report(sensors(request.param))
    path = tmp_path_factory.mktemp("report") / "report.html"
    page.save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</body>", f"{SCRIPT}</body>"), encoding="utf-8")
    return len(page.findings), path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [500, 1300])
def test_nothing_is_missing_or_cut_off(saved, width, scheme, tmp_path):
    n_findings, path = saved
    command = [
        BROWSER,
        *OPTIONS,
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2000",
        "--dump-dom",
        path.as_uri(),
    ]
    for _ in range(5):  # a busy browser may print the page before its pictures are decoded
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert "CONSOLE" not in done.stderr
        dom = re.search(r'id="measures">(.*?)</script>', done.stdout, flags=re.DOTALL)
        if dom:
            break

    measures = json.loads(unescape(dom[1]))
    assert n_findings == 7
    assert len(measures["pictures"]) == n_findings
    assert min(measures["pictures"]) > 0
    assert measures["images"]
    assert min(measures["images"]) > 0
    assert measures["page"] <= measures["window"] <= width
    assert measures["cut"] == []
    assert measures["dark"] == (scheme == "dark")
    assert measures["contrast"] >= MIN_CONTRAST
