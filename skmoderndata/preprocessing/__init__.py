"""Transformers that prepare data for the other methods."""

from skmoderndata.preprocessing._time_delay_embedding import TimeDelayEmbedding

__all__ = [
    "TimeDelayEmbedding",
]
