"""Files of a package, and archives of them: sorted, owned by root, all of one time, so that equal files make equal bytes."""

import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class File:
    """What a file of a package has in it, and its mode."""

    data: bytes
    mode: int = 0o644


# A package: its files by path, relative to the root of the machine or of the archive.
Files = dict[str, File]


def tar(files: Files, time: int, folders: dict[str, int] | None = None) -> bytes:
    """A tar of files and the folders that they are in. `folders`: more folders, with their modes."""
    modes = {str(above): 0o755 for path in files for above in PurePosixPath(path).parents if str(above) != "."}
    modes |= folders or {}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted([*files, *modes]):
            member = tarfile.TarInfo(path)
            member.mtime = time
            member.uname = member.gname = "root"
            if path in modes:
                member.type, member.mode = tarfile.DIRTYPE, modes[path]
                archive.addfile(member)
            else:
                member.size, member.mode = len(files[path].data), files[path].mode
                archive.addfile(member, io.BytesIO(files[path].data))
    return buffer.getvalue()


def gz(data: bytes) -> bytes:
    """Compressed, without name and time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def write(files: Files, root: Path) -> None:
    """The files below a folder of the machine."""
    for path, file in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(file.mode)
