"""An image of a container in the layout of the Open Container Initiative: one layer with the static program.

    podman load -i wirecost-VERSION-linux-amd64.oci.tar        # Docker from version 25 on too
    skopeo copy oci-archive:FILE docker://REGISTRY/wirecost

docs/install.md says what a container must be given for live runs.
"""

import hashlib
import json
import sys
from datetime import datetime, timezone

from files import File, Files, gz, tar
from program import Program

MEDIA = "application/vnd.oci.image."
# Whatever writes results needs a folder, and a name of its user.
FOLDERS = {"tmp": 0o1777, "work": 0o1777}
ACCOUNTS = {
    "etc/passwd": File(b"root:x:0:0:root:/work:/usr/bin/wirecost\nnobody:x:65534:65534:nobody:/work:/usr/bin/wirecost\n"),
    "etc/group": File(b"root:x:0:\nnogroup:x:65534:\n"),
}


def build(program: Program, licences: Files, labels: dict[str, str], time: int) -> tuple[str, bytes]:
    """Its name and its bytes."""
    if program.glibc:
        sys.exit("error: an image has no C library: its program must be static")
    version = labels["org.opencontainers.image.version"]
    inside = ACCOUNTS | {"usr/bin/wirecost": File(program.data, 0o755)}
    inside |= {f"usr/share/doc/wirecost/{path}": file for path, file in licences.items()}
    layer = tar(inside, time, FOLDERS)
    packed = gz(layer)
    config = text(configuration(program, layer, labels, time))
    manifest = text(
        {
            "schemaVersion": 2,
            "mediaType": MEDIA + "manifest.v1+json",
            "config": described("config.v1+json", config),
            "layers": [described("layer.v1.tar+gzip", packed)],
            "annotations": labels,
        }
    )
    index = {
        "schemaVersion": 2,
        "mediaType": MEDIA + "index.v1+json",
        "manifests": [
            described("manifest.v1+json", manifest)
            | {
                "platform": {"architecture": program.image, "os": "linux"},
                "annotations": {"org.opencontainers.image.ref.name": version},
            }
        ],
    }
    layout = {"oci-layout": File(text({"imageLayoutVersion": "1.0.0"})), "index.json": File(text(index))}
    blobs = {f"blobs/sha256/{digest(blob)}": File(blob) for blob in (config, packed, manifest)}
    return f"wirecost-{version}-linux-{program.image}.oci.tar", tar(layout | blobs, time)


def configuration(program: Program, layer: bytes, labels: dict[str, str], time: int) -> dict[str, object]:
    """What a container of the image runs, and where."""
    created = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": program.image,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/wirecost"],
            "Env": ["PATH=/usr/bin", "HOME=/work"],
            "WorkingDir": "/work",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(layer)}"]},
        "history": [{"created": created, "created_by": "scripts/release"}],
    }


def described(kind: str, blob: bytes) -> dict[str, object]:
    """What a blob is, and how it is found."""
    return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest(blob)}", "size": len(blob)}


def digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def text(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
