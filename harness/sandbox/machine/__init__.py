"""Code written for GPUs, clusters and command lines, on a machine that has none of them."""
