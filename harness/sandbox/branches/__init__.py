"""Which branches of a program a run enters, and which of the others touch training."""
