"""Reads a program, without running it, into a graph of where its values flow."""
