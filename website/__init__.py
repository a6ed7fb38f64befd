"""The documentation as a site: pages of docs/, a gallery of faults made by execution, a reference."""
