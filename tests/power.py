"""A file system that forgets what was not synced when the power is cut.

Every file has two contents: what a program reads back, and what is on the disk. A write changes the first; a sync makes
the second like it. A power cut throws the first away; of what was written since the last sync any part may have reached
the disk, sector by sector, as the disk pleased. After the cut every call fails, so that a program that closes its files
on the way out cannot save anything.

It is a simulation: one connection at a time, exclusive locking, no shared memory.
"""

import random
from typing import Any

import apsw

SECTOR = 512


class File:
    """What is read, what is on the disk, and which sectors differ."""

    def __init__(self) -> None:
        self.seen, self.disk = bytearray(), bytearray()
        self.dirty: set[int] = set()


class Power:
    """All files, and whether there is power."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.on = True
        self.calls = 0
        self.until: int | None = None  # the power goes at this call

    def used(self) -> None:
        """A call to the file system."""
        self.calls += 1
        if self.until is not None and self.calls >= self.until:
            self.on = False
        if not self.on:
            raise apsw.IOError("no power")

    def back(self, luck: random.Random) -> None:
        """The power comes back: of what was not synced, luck decides by sectors what is there."""
        for file in self.files.values():
            keep = luck.random()
            for sector in sorted(file.dirty):
                if luck.random() < keep:
                    start = sector * SECTOR
                    part = file.seen[start : start + SECTOR]
                    if len(file.disk) < start:
                        file.disk.extend(bytes(start - len(file.disk)))
                    file.disk[start : start + len(part)] = part
            file.seen, file.dirty = bytearray(file.disk), set()
        self.on, self.until, self.calls = True, None, 0


class PowerFile:
    """An open file, as SQLite uses it."""

    def __init__(self, power: Power, file: File) -> None:
        self.power, self.file = power, file

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.power.used()
        return bytes(self.file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.power.used()
        seen = self.file.seen
        if len(seen) < offset:
            seen.extend(bytes(offset - len(seen)))
        seen[offset : offset + len(data)] = data
        self.file.dirty.update(range(offset // SECTOR, (offset + len(data) - 1) // SECTOR + 1))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.power.used()
        del self.file.seen[size:]
        del self.file.disk[size:]
        self.file.dirty = {sector for sector in self.file.dirty if sector * SECTOR < size}

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.power.used()
        self.file.disk, self.file.dirty = bytearray(self.file.seen), set()

    def xFileSize(self) -> int:  # noqa: N802
        return len(self.file.seen)

    def xClose(self) -> None: ...  # noqa: N802

    def xLock(self, level: int) -> None: ...  # noqa: N802

    def xUnlock(self, level: int) -> None: ...  # noqa: N802

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return SECTOR

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0


class PowerVFS(apsw.VFS):
    """The file system, under a name that connections can ask for."""

    def __init__(self, name: str) -> None:
        self.power = Power()
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        self.power.used()
        path = name.filename() if hasattr(name, "filename") else str(name)
        flags[1] = flags[0]
        return PowerFile(self.power, self.power.files.setdefault(path, File()))

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        self.power.used()
        self.power.files.pop(name, None)

    def xAccess(self, name: str, flags: int) -> bool:  # noqa: N802
        return name in self.power.files and (flags != apsw.SQLITE_ACCESS_EXISTS or bool(self.power.files[name].seen))

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name
