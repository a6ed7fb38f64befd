"""Batches as programs take them apart, and the loaders that hand them out."""
