"""Formulas as MathML, made at build time: pages need no script and no network to show them."""

import html
import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

# what authors write -> what the converter of docutils knows
ALIGNED = re.compile(
    r"\\(begin|end)\{(?:align|alignat|eqnarray|gather|gathered|split|multline)\*?\}"
)
FRACTION = re.compile(r"\\([td]?frac)\s*(\w)\s*(\w)")  # one character each, without braces
# Browsers leave no space between a function and an argument without brackets.
FUNCTION = re.compile(
    r"(\\(?:log|ln|exp|operatorname\{\w+\}))\s+(?=[A-Za-z]|\\(?!left|big|Big|[{|]))"
)
OPERATORS = "argmin argmax sign sgn rank tr Tr diag prox soft svd cov var".split()
REPLACEMENTS = {
    r"\big": r"\bigl",
    r"\Big": r"\Bigl",
    r"\bigg": r"\biggl",
    r"\Bigg": r"\Biggl",
    r"\bigm": r"\bigl",
    r"\middle": "",
    r"\displaystyle": "",
    r"\textstyle": "",
    r"\nonumber": "",
    r"\mathop": "",
    r"\dots": r"\ldots",
    r"\iff": r"\Longleftrightarrow",
    r"\stackrel": r"\overset",
    r"\bm": r"\boldsymbol",
    r"\texttt": r"\mathtt",
    r"\textbf": r"\mathbf",
    r"\textit": r"\text",
    r"\lt": "<",
    r"\gt": ">",
}


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))


def to_mathml(tex, *, block):
    """MathML of a formula; raises MathError if it has a command that docutils does not know."""
    tex = ALIGNED.sub(r"\\\1{aligned}", tex.strip())
    for name in OPERATORS:
        tex = re.sub(rf"\\{name}(?![A-Za-z])", rf"\\operatorname{{{name}}}", tex)
    tex = FRACTION.sub(r"\\\1{\2}{\3}", tex)
    tex = FUNCTION.sub(r"\1\\, ", tex)
    tex = re.sub(r"\\[A-Za-z]+", lambda word: REPLACEMENTS.get(word[0], word[0]), tex)
    if block and "\\begin" not in tex and re.search(r"\\\\|(?<!\\)&", tex):
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        result = tex2mathml(tex, as_block=block)
    except (
        AttributeError,
        IndexError,
        ValueError,
        SyntaxError,
    ) as error:  # its parser gave up
        raise MathError(f"cannot parse: {error}") from error
    return result.replace("<mtable class=", '<mtable displaystyle="true" class=')


def _convert(node, tex, *, block):
    try:
        return to_mathml(tex, block=block)
    except MathError as error:
        logger.warning("formula cannot be shown (%s): %s", error, tex, location=node)
        return f"<code>{html.escape(tex)}</code>"


def _visit_math(self, node):
    self.body.append(_convert(node, node.astext(), block=False))
    raise nodes.SkipNode


def _visit_math_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    if node.get("number"):
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})</span>')
    # a blank line separates formulas, as in sphinx's own renderers
    for part in re.split(r"\n\s*\n", node.astext().strip()):
        self.body.append(_convert(node, part, block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode
