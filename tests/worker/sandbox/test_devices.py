"""Which device nodes a runner is given."""

from __future__ import annotations

from pathlib import Path

from worker.sandbox.devices import gpu_nodes


def dev(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).touch()
    return folder


def test_the_first_gpu_and_what_all_share(tmp_path: Path) -> None:
    folder = dev(tmp_path, "nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "sda")
    names = [Path(node).name for node in gpu_nodes(folder)]
    assert names == ["nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]


def test_a_container_with_another_gpu_of_its_host(tmp_path: Path) -> None:
    folder = dev(tmp_path, "nvidia10", "nvidiactl")
    assert [Path(node).name for node in gpu_nodes(folder)] == ["nvidia10", "nvidiactl"]


def test_a_driver_without_a_gpu(tmp_path: Path) -> None:
    assert gpu_nodes(dev(tmp_path, "nvidiactl", "nvidia-uvm")) == ()
