"""Inspection of fitted models: how stable components are."""

from skmoderndata.inspection._bootstrap_components import bootstrap_components
from skmoderndata.inspection._components_display import ComponentsDisplay

__all__ = [
    "ComponentsDisplay",
    "bootstrap_components",
]
