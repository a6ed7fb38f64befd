"""Workloads of the bank: declared in a file each, built in one with an underscore."""
