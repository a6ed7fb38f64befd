"""Programs that a pytest file judges: imported as a module and tested, in the jail."""
