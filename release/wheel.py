"""The wheel of the Python package around a program that is built already. `pip install .` in a clone builds one with maturin instead.

A static program needs no C library, so its wheel is for every Linux; that of another program says the oldest glibc that it runs on.
"""

import base64
import hashlib
import io
import tomllib
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from files import File, Files
from program import Program

# The oldest glibc that pip of any Python that the package supports still looks for (manylinux2014).
OLDEST = (2, 17)


def build(root: Path, program: Program, licences: Files, version: str, time: int) -> tuple[str, bytes]:
    """Its name and its bytes."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    tags = [f"py3-none-{platform}" for platform in platforms(program)]
    about = f"wirecost-{version}.dist-info"
    inside = {
        f"wirecost/{path.name}": File(path.read_bytes())
        for path in (root / "python/wirecost").iterdir()
        if path.suffix in (".py", ".pyi") or path.name == "py.typed"
    }
    inside[f"wirecost-{version}.data/scripts/wirecost"] = File(program.data, 0o755)
    inside[f"{about}/METADATA"] = File(metadata(project, licences, version, (root / project["readme"]).read_text()))
    inside[f"{about}/WHEEL"] = File(lines("Wheel-Version: 1.0", "Generator: scripts/release", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)))
    inside |= {f"{about}/licenses/{path}": file for path, file in licences.items()}
    record = [f"{path},{checksum(file.data)},{len(file.data)}" for path, file in sorted(inside.items())]
    inside[f"{about}/RECORD"] = File(lines(*record, f"{about}/RECORD,,"))
    return f"wirecost-{version}-py3-none-{'.'.join(platforms(program))}.whl", zipped(inside, time)


def platforms(program: Program) -> list[str]:
    """The platforms of a wheel, as pip knows them."""
    major, minor = max(program.glibc or OLDEST, OLDEST)
    old = [f"manylinux2014_{program.machine}"] if (major, minor) == OLDEST else []
    musl = [] if program.glibc else [f"musllinux_1_1_{program.machine}"]
    return [f"manylinux_{major}_{minor}_{program.machine}", *old, *musl]


def metadata(project: dict[str, object], licences: Files, version: str, readme: str) -> bytes:
    """METADATA, version 2.4, from the table `project` of pyproject.toml."""
    extras = project["optional-dependencies"]
    head = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {path}" for path in licences),
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
        *(f"Requires-Dist: {needed} ; extra == '{extra}'" for extra, all_needed in extras.items() for needed in all_needed),
        *(f"Provides-Extra: {extra}" for extra in extras),
        "Description-Content-Type: text/markdown; charset=UTF-8",
    ]
    return lines(*head, "", readme)


def zipped(inside: Files, time: int) -> bytes:
    """A zip in order, all of one time."""
    when = datetime.fromtimestamp(time, timezone.utc).timetuple()[:6]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # The folder of metadata is last, as the format recommends.
        for path, file in sorted(inside.items(), key=lambda item: (".dist-info/" in item[0], item[0])):
            member = zipfile.ZipInfo(path, when)
            member.external_attr = (0o100000 | file.mode) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, file.data)
    return buffer.getvalue()


def checksum(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def lines(*texts: str) -> bytes:
    return ("\n".join(texts) + "\n").encode()
