"""GPU memory that two processes map: a CUDA VMM allocation, handed over as a file descriptor.

The descriptor is the capability: nothing else has to be shared, so it crosses namespaces and user ids (legacy CUDA
IPC does not). The physical memory lives until the last mapping goes.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from cuda.bindings import driver

_FD = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


class DeviceMemoryError(RuntimeError):
    """The driver refused; the message is its own."""


class DeviceMemory:
    """``nbytes`` of memory of ``device``, mapped into this process. Its CUDA context must exist already."""

    def __init__(self, nbytes: int, device: int = 0, descriptor: int | None = None) -> None:
        properties = _properties(device)
        granularity = _checked(
            driver.cuMemGetAllocationGranularity(
                properties, driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
            )
        )
        self.nbytes = -(-max(nbytes, 1) // granularity) * granularity
        if descriptor is None:
            handle = _checked(driver.cuMemCreate(self.nbytes, properties, 0))
            self.descriptor = int(_checked(driver.cuMemExportToShareableHandle(handle, _FD, 0)))
        else:
            self.descriptor = descriptor
            handle = _checked(driver.cuMemImportFromShareableHandle(descriptor, _FD))
        self.pointer = int(_checked(driver.cuMemAddressReserve(self.nbytes, 0, 0, 0)))
        _checked(driver.cuMemMap(self.pointer, self.nbytes, 0, handle, 0))
        _checked(driver.cuMemRelease(handle))  # the mapping keeps it
        access = driver.CUmemAccessDesc()
        access.location = properties.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        _checked(driver.cuMemSetAccess(self.pointer, self.nbytes, [access], 1))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """All of it as bytes, for ``torch.as_tensor``."""
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.pointer, False), "version": 3}

    def close(self) -> None:
        """Unmap. Nothing may use the memory any more."""
        with contextlib.suppress(OSError):
            os.close(self.descriptor)
        _checked(driver.cuMemUnmap(self.pointer, self.nbytes))
        _checked(driver.cuMemAddressFree(self.pointer, self.nbytes))


def _properties(device: int) -> Any:
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = device
    properties.requestedHandleTypes = _FD
    return properties


def _checked(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceMemoryError(str(status))
    return values[0] if values else None
