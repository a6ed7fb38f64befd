"""Names are a contract: which name of a posted program stands for what."""
