"""What the values of a program are: a model, a batch, a loss, a threshold."""
