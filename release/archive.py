"""The archive of a program: what cargo-binstall takes, and a person without a package manager."""

from files import File, Files, gz, tar
from program import Program


def build(program: Program, texts: Files, documents: Files, version: str, time: int) -> tuple[str, bytes]:
    """Its name and its bytes."""
    folder = f"wirecost-{version}-{program.target}"
    inside = {"wirecost": File(program.data, 0o755), **texts, **documents}
    return f"{folder}.tar.gz", gz(tar({f"{folder}/{path}": file for path, file in inside.items()}, time))
