"""What a compiled kernel uses of a multiprocessor, as the tools in Triton's wheel tell it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import CompiledKernel

from reference.resources.recording import Launch

CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")


@dataclass(frozen=True)
class Usage:
    """A kernel compiled for one target: per thread registers and bytes of stack (spills), shared bytes per program."""

    kernel: str
    target: str
    warps: int
    registers: int
    spilled_bytes: int
    shared_bytes: int


def compiled(launch: Launch, capability: int, warps: int | None = None) -> CompiledKernel:
    """The kernel for sm_``capability``, with other ``warps`` than the launch's if given. No GPU is needed."""
    source = launch.kernel.ASTSource(launch.kernel, launch.signature, launch.constants, launch.attributes)
    options = {"num_warps": warps or launch.warps, "num_stages": launch.stages, "maxnreg": launch.registers}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def usage_of(launch: Launch, capability: int, warps: int | None = None) -> Usage:
    """What the kernel uses when it is compiled so."""
    kernel = compiled(launch, capability, warps)
    registers, stack = _resource_usage(kernel.asm["cubin"])
    return Usage(
        kernel=launch.kernel.__name__,
        target=f"sm_{capability}",
        warps=kernel.metadata.num_warps,
        registers=registers,
        spilled_bytes=stack,
        shared_bytes=kernel.metadata.shared,
    )


def _resource_usage(cubin: bytes) -> tuple[int, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(CUOBJDUMP), "--dump-resource-usage", file.name]
        dumped = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    found = _USAGE.search(dumped)
    if found is None:
        raise ValueError(f"cuobjdump tells no registers: {dumped[:500]!r}")
    return int(found[1]), int(found[2])
