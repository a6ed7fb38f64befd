"""Each technique once: small, importable, documented. Fixes of scenarios carry them, shortened.

Gradients are changed where a trailing underscore says so, between the window's last backward and
the step. Norms are L2 and in units of the loss per unit of the parameter.
"""
