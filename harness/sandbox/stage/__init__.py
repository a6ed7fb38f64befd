"""Programs on a subject of a workload's own: they run as they are, on what the workload lends."""
