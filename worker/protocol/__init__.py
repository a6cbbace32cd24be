"""The wire: what crosses between judge and runner.

``channel`` carries length-prefixed JSON and file descriptors over Unix sockets; ``device_memory`` is the GPU memory
behind such a descriptor. Standard library, and CUDA's own bindings where there is a GPU.
"""
