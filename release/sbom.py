"""What the program is built from, as CycloneDX 1.5 in JSON: every crate with version, licence, checksum and what it uses."""

import json
import subprocess
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote


def build(root: Path, targets: list[str], version: str, time: int) -> tuple[str, bytes]:
    """Its name and its bytes."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += [word for target in targets for word in ("--filter-platform", target)]
    data = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=root).stdout)
    sums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((root / "Cargo.lock").read_text())["package"]
    }
    packages = {package["id"]: package for package in data["packages"]}
    uses = used(data)
    (start,) = (package["id"] for package in packages.values() if package["name"] == "wirecost" and package["source"] is None)
    within = reached(uses, start)
    body = {
        "metadata": {
            "timestamp": datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[start], sums) | {"type": "application"},
        },
        "components": [component(packages[one], sums) for one in by_name(packages, within - {start})],
        "dependencies": [
            {"ref": name(packages[one]), "dependsOn": sorted(name(packages[other]) for other in uses[one])}
            for one in by_name(packages, within)
        ],
    }
    # A number that follows from the contents, so that two builds have the same.
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return f"wirecost-{version}.cdx.json", json.dumps(head | body, indent=1).encode() + b"\n"


def used(data: dict) -> dict[str, set[str]]:
    """The packages that each package is built with, but those of tests alone."""
    return {
        node["id"]: {each["pkg"] for each in node["deps"] if any(kind["kind"] != "dev" for kind in each["dep_kinds"])}
        for node in data["resolve"]["nodes"]
    }


def reached(uses: dict[str, set[str]], start: str) -> set[str]:
    """A package and all that it is built with."""
    seen, left = {start}, [start]
    while left:
        new = uses[left.pop()] - seen
        seen |= new
        left += new
    return seen


def component(package: dict, sums: dict[tuple[str, str], str | None]) -> dict:
    """A crate. The crates of the workspace have no checksum: they are the commit."""
    checksum = sums[package["name"], package["version"]]
    said = {
        "type": "library",
        "bom-ref": name(package),
        "name": package["name"],
        "version": package["version"],
        "purl": name(package),
    }
    if package["license"]:
        # Old crates write a slash for "or".
        said["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        said["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return said


def name(package: dict) -> str:
    """A package URL."""
    return f"pkg:cargo/{package['name']}@{quote(package['version'])}"


def by_name(packages: dict[str, dict], ids: set[str]) -> list[str]:
    return sorted(ids, key=lambda one: (packages[one]["name"], packages[one]["version"]))
