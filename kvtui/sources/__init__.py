"""The thin edge: files, pipes, and later NVML, HTTP and host."""
