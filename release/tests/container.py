"""Runs an image by programs of others: umoci unpacks it, runc runs it as root of a user namespace of its own."""

import json
import os
import subprocess
import tarfile
from pathlib import Path


def run(archive: Path, tag: str, folder: Path, words: list[str], is_root: bool = False) -> str:
    """What the image prints. `is_root`: with all capabilities of the machine's root, for live runs."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "image", filter="fully_trusted")
    bundle = folder / "bundle"
    said("umoci", "unpack", *([] if is_root else ["--rootless"]), "--image", f"{folder}/image:{tag}", bundle)
    config = json.loads((bundle / "config.json").read_text())
    process, linux = config["process"], config["linux"]
    process["terminal"] = False
    process["args"] += words
    # A test has no group of its own whose resources it may bound.
    linux.pop("resources", None)
    linux.pop("cgroupsPath", None)
    if is_root:
        every = [name for name in ("CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_NET_BIND_SERVICE", "CAP_SETUID", "CAP_SETGID")]
        process["capabilities"] = {kind: every for kind in ("bounding", "effective", "permitted")}
    config["root"]["readonly"] = False
    (bundle / "config.json").write_text(json.dumps(config))
    return said("runc", "--root", folder / "state", "run", "--bundle", bundle, f"wirecost-{os.getpid()}", stdin=subprocess.DEVNULL)


def said(*command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
    return ended.stdout
