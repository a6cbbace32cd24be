"""What the GPU's runner says of compiled kernels, whatever Triton hands it for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from worker.judge.messages import CompiledKernel
from worker.runner.device import LaunchRecorder

METADATA = SimpleNamespace(name="k", target=SimpleNamespace(arch=90), num_warps=4, num_stages=2, shared=300 << 10)


@dataclass
class Kernel:
    """As Triton compiles it: registers and spills are known once it is loaded."""

    loads: bool = True
    metadata: Any = field(default_factory=lambda: METADATA)
    n_regs: int | None = None
    n_spills: int | None = None

    def _init_handles(self) -> None:
        if not self.loads:
            raise RuntimeError("out of resource: shared memory")
        self.n_regs, self.n_spills = 40, 8


@dataclass
class Promise:
    """As a compiler thread's kernel is known until Triton 3.6: it has a result and nothing else."""

    kernel: Kernel

    def result(self) -> Kernel:
        return self.kernel


def told(kernel: object) -> CompiledKernel:
    recorder = LaunchRecorder()
    recorder._compiled.append(kernel)
    (said,) = recorder.take()
    return CompiledKernel.model_validate(said)


def test_what_a_kernel_takes_is_told() -> None:
    for kernel in (Kernel(), Promise(Kernel())):
        said = told(kernel)
        assert (said.name, said.target, said.registers, said.spill_bytes) == ("k", "sm_90", 40, 8)


def test_a_kernel_that_the_device_cannot_load_still_says_what_it_wants() -> None:
    said = told(Promise(Kernel(loads=False)))
    assert (said.registers, said.spill_bytes, said.shared_bytes) == (None, None, 300 << 10)
