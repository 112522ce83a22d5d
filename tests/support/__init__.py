"""What several tests need: made-up runs, faulty kernels, and the command line as a process."""
