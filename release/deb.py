"""The Debian package: program, man pages, completions, systemd units, and one sentence about live runs at its install."""

import hashlib
import os
import subprocess
import tempfile
from email.utils import formatdate
from pathlib import Path

from files import File, Files, gz, write
from program import Program

HERE = Path(__file__).parent
# Where each shell looks for completions.
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/wirecost",
    "zsh": "usr/share/zsh/vendor-completions/_wirecost",
    "fish": "usr/share/fish/vendor_completions.d/wirecost.fish",
}


def build(program: Program, texts: Files, documents: Files, about: dict[str, str], time: int) -> tuple[str, bytes]:
    """Its name and its bytes."""
    inside = contents(program, texts, documents, about, time)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        write(inside | control(inside, program, about), root)
        for place in [root, *root.rglob("*")]:
            if place.is_dir():
                place.chmod(0o755)
            os.utime(place, (time, time))
        package = Path(folder, "package.deb")
        # One thread: the blocks of xz follow from their number.
        command = ["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", root, package]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(time)})
        return f"wirecost_{about['version']}_{program.debian}.deb", package.read_bytes()


def contents(program: Program, texts: Files, documents: Files, about: dict[str, str], time: int) -> Files:
    """What is installed."""
    inside = {"usr/bin/wirecost": File(program.data, 0o755)}
    for path, file in texts.items():
        kind, name = path.split("/")
        if kind == "man":
            inside[f"usr/share/man/man1/{name}.gz"] = File(gz(file.data))
        else:
            inside[COMPLETIONS[name]] = file
    for unit in sorted((HERE / "units").iterdir()):
        inside[f"usr/lib/systemd/system/{unit.name}"] = File(unit.read_bytes())
    shared = "usr/share/doc/wirecost"
    if not program.glibc:
        inside["usr/share/lintian/overrides/wirecost"] = File(b"wirecost: statically-linked-binary [usr/bin/wirecost]\n")
    inside |= {f"{shared}/{path}": file for path, file in documents.items() if not path.startswith("LICENSE")}
    inside[f"{shared}/copyright"] = File((HERE / "deb/copyright").read_bytes())
    changes = f"wirecost ({about['version']}) unstable; urgency=low\n\n  * See {about['repository']}/blob/main/CHANGELOG.md.\n\n"
    changes += f" -- {about['maintainer']}  {formatdate(time)}\n"
    inside[f"{shared}/changelog.gz"] = File(gz(changes.encode()))
    return inside


def control(inside: Files, program: Program, about: dict[str, str]) -> Files:
    """What dpkg reads."""
    fields = {
        "Package": "wirecost",
        "Version": about["version"],
        "Architecture": program.debian,
        "Maintainer": about["maintainer"],
        "Installed-Size": str(sum(-(-len(file.data) // 1024) for file in inside.values())),
        "Depends": "libc6 (>= {}.{}), libgcc-s1".format(*program.glibc) if program.glibc else None,
        "Suggests": "tshark",
        "Section": "net",
        "Priority": "optional",
        "Homepage": about["repository"],
    }
    text = "".join(f"{name}: {value}\n" for name, value in fields.items() if value) + (HERE / "deb/description").read_text()
    sums = "".join(f"{hashlib.md5(file.data).hexdigest()}  {path}\n" for path, file in sorted(inside.items()))
    return {
        "DEBIAN/control": File(text.encode()),
        "DEBIAN/md5sums": File(sums.encode()),
        "DEBIAN/postinst": File((HERE / "deb/postinst").read_bytes(), 0o755),
        "DEBIAN/postrm": File((HERE / "deb/postrm").read_bytes(), 0o755),
    }
