"""Settings of the documentation: `python -m sphinx -W --keep-going -b html docs build/docs`."""

import os
import sys
from pathlib import Path

from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (see the gallery below)

import skmoderndata

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "tools"), str(HERE.parent)]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "skmoderndata"
author = "The skmoderndata developers"
copyright = author
version = release = skmoderndata.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "skmoderndata_site",
]
exclude_patterns = [
    "_ext",
    "changes",
    "references/*",
    "generated/*.md",  # fragments, included by pages
    "sg_execution_times.rst",
    "auto_examples/sg_execution_times.rst",
]
default_role = "literal"  # `name` in docstrings
highlight_language = "python"
suppress_warnings = ["config.cache"]  # the gallery holds objects in its settings

# pages
html_theme = "pydata_sphinx_theme"
html_title = "skmoderndata"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # the theme logs an error without a mode
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    page.stem: [] for page in HERE.glob("*.md") if page.stem != "api"
}  # no sections
html_sidebars["auto_examples/index"] = []
html_math_renderer = "mathml"  # of skmoderndata_site: no script, no network

# the button copies what is typed, without prompts and answers
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# text
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]

# reference
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False  # generated/api lists the methods
numpydoc_use_plots = False
toc_object_entries_show_parents = "hide"

# gallery; with `-D plot_gallery=0` no example runs, and its names are looked up without it
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "doc_module": ("skmoderndata",),
    "backreferences_dir": "generated/backreferences",
    # classes are also at the top, and their pages in their modules
    "prefer_full_module": {r"skmoderndata\.\w+"},
    "inspect_global_variables": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 5,
    "copyfile_regex": r"",
    "image_scrapers": ("skmoderndata_site.thumbnails.scrape",),
}
