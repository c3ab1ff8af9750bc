"""The Python side of Vivarium. Sessions see this one name of ours and nothing else."""
