"""The device nodes that a GPU needs, and nothing else of /dev."""

from __future__ import annotations

from pathlib import Path

_SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")


def gpu_nodes(index: int = 0) -> tuple[str, ...]:
    """The nodes of GPU ``index``; empty when this machine has no such GPU."""
    own = f"/dev/nvidia{index}"
    if not Path(own).exists():
        return ()
    return (own, *(node for node in _SHARED if Path(node).exists()))
