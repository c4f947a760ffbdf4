"""The changelog page: fragments of the coming release, then the releases."""

import re
import tomllib

MARKER = "<!-- towncrier release notes start -->"


def render(root):
    """Markdown: `docs/changes` under the headings of towncrier's types, then CHANGELOG.md."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    coming = []
    for kind in settings["tool"]["towncrier"]["type"]:
        fragments = sorted((root / "docs" / "changes").glob(f"*.{kind['directory']}.md"))
        if fragments:
            coming += [f"### {kind['name']}", ""]
            coming += [_bullet(path.read_text(encoding="utf-8")) for path in fragments] + [""]
    if coming:
        coming = ["## Not yet released", "", *coming]

    released = (root / "CHANGELOG.md").read_text(encoding="utf-8").partition(MARKER)[2]
    return "\n".join([*coming, released.strip(), ""])


def _bullet(text):
    return "- " + re.sub(r"\n(?=.)", "\n  ", text.strip())
