"""Drill versions that this judge has unpacked, by digest."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from graders.drill import Drill, load_drill


class Packages:
    """Unpacks each version once, into a folder of its own, and keeps the last one loaded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: tuple[str, Drill] | None = None

    def drill(self, slug: str, digest: str, package: int) -> Drill:
        """The drill of a package whose zip is open as descriptor ``package``. Raises DrillError."""
        if self._loaded is None or self._loaded[0] != digest:
            self._loaded = (digest, load_drill(self.unpacked(digest, package), slug))
        return self._loaded[1]

    def unpacked(self, digest: str, package: int) -> Path:
        """The folder that holds the files of a package, none of which has been run."""
        root = self._folder / digest
        if not root.is_dir():
            with os.fdopen(os.dup(package), "rb") as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
                archive.extractall(root)
        return root
