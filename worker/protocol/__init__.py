"""The wire: length-prefixed JSON and file descriptors over Unix sockets. Standard library only."""
