"""The HTML of a report: one fragment, which needs no other file."""

import html
from typing import Any

from skmoderndata._guide.report_parts import Finding

STYLE = """
.skmoderndata-report { --ink: #1c2530; --faint: #5a6672; --line: #d4dae0; --back: #ffffff;
  --box: #f3f5f7; --link: #0b62a8; color: var(--ink); background: var(--back);
  font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  box-sizing: border-box; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .skmoderndata-report { --ink: #e4e8ec; --faint: #a3aeb9;
  --line: #3b4652; --back: #14181d; --box: #1f262e; --link: #7cb8ee; } }
.skmoderndata-report h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
.skmoderndata-report h2 { font-size: 1.15rem; margin: 0 0 .3rem; }
.skmoderndata-report p { margin: .4rem 0; }
.skmoderndata-report .faint { color: var(--faint); font-size: .9rem; }
.skmoderndata-report section { border-top: 1px solid var(--line); padding: 1rem 0; }
.skmoderndata-report .wide { overflow-x: auto; }
.skmoderndata-report table { border-collapse: collapse; font-size: .9rem; color: inherit;
  background: none; margin: .5rem 0; }
.skmoderndata-report th, .skmoderndata-report td { text-align: left; padding: .2rem .9rem .2rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; background: none; color: inherit;
  overflow-wrap: normal; }
.skmoderndata-report pre { background: var(--box); color: inherit; padding: .6rem; margin: .5rem 0;
  white-space: pre-wrap; font: .85rem/1.4 ui-monospace, monospace; user-select: all; }
.skmoderndata-report svg { display: block; max-width: 100%; height: auto; color: var(--ink);
  font-family: system-ui, sans-serif; stroke-linejoin: round; stroke-linecap: butt; }
"""


def fragment(facts: dict[str, Any], findings: list[Finding], pictures: dict[str, str]) -> str:
    """Return the report as a `div` with its style."""
    parts = [
        f'<div class="skmoderndata-report"><style>{STYLE}</style>',
        f"<h1>{html.escape(facts['title'])}</h1>",
        *(f'<p class="faint">{html.escape(line)}</p>' for line in facts["notes"]),
    ]
    if not findings:
        parts.append("<p><strong>Nothing found.</strong></p>")
    parts += [_section(finding, pictures[finding.name]) for finding in findings]
    if facts["absent"]:
        parts.append(
            "<section><h2>Tested and not found</h2>"
            f"<p>{html.escape(facts['absent'])}</p></section>"
        )
    return "\n".join([*parts, "</div>"])


def document(title: str, body: str) -> str:
    """Return a complete page around a fragment."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n"
        "<style>body { margin: 0; } @media (prefers-color-scheme: dark) "
        "{ body { background: #14181d; } }</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _section(finding: Finding, picture: str) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in finding.columns)
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in line) + "</tr>"
        for line in finding.lines
    ]
    return "\n".join(
        [
            "<section>",
            f"<h2>{html.escape(finding.title)}</h2>",
            f"<p>{html.escape(finding.text)}</p>",
            picture,
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>',
            *lines,
            "</tbody></table></div>",
            f'<p class="faint">Run next:</p><pre>{html.escape(finding.code)}</pre>',
            "</section>",
        ]
    )
