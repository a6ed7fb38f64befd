"""Ranks: what processes share, how often, and that they stay alike."""

from harness.properties.ranks import ranks_agree, single_allreduce

PROPERTIES = (single_allreduce.PROPERTY, ranks_agree.PROPERTY)
"""In the order in which a reader meets them."""
