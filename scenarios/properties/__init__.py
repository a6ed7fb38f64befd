"""Properties of data loading: one claim a file, over what the workload ``loading`` measured."""
