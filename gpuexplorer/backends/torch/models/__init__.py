"""The shipped workloads as PyTorch's users write them: one small file for each, loaded when run."""
