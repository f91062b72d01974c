"""Crates as they are published, and the list of what the program is built from."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import sbom
from conftest import ROOT, TIME

MACHINES = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml"))
INCLUDED = re.compile(r'include_(?:str|bytes)!\(\s*"([^"]+)"')
# Of use by themselves: each has a front page with an example, which `cargo test --doc` runs.
FRONT_PAGES = ["amqp", "coap", "link", "mqtt", "tcp", "wire"]


def manifest(folder):
    return tomllib.loads((folder / "Cargo.toml").read_text())["package"]


@pytest.fixture(scope="module")
def listed():
    return json.loads(sbom.build(ROOT, MACHINES, "1.2.3", TIME)[1])


def test_every_crate_but_that_of_the_fuzz_targets_is_published():
    assert [folder.name for folder in CRATES if manifest(folder).get("publish", True) is not True] == ["wirecost-fuzz"]


@pytest.mark.parametrize("folder", CRATES, ids=lambda folder: folder.name)
def test_a_published_crate_says_what_the_registry_shows(folder):
    package = manifest(folder)
    if package.get("publish") is False:
        return
    for key in ("description", "license", "repository", "readme", "documentation", "keywords", "categories"):
        assert package.get(key), key
    assert len(package["keywords"]) <= 5 and all(re.fullmatch("[a-z][a-z0-9-]{0,19}", word) for word in package["keywords"])


def test_path_dependencies_have_the_version_of_the_workspace():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    own = {name: told for name, told in workspace["dependencies"].items() if name.startswith("wirecost-")}
    assert {told["version"] for told in own.values()} == {workspace["package"]["version"]}


@pytest.mark.parametrize("name", FRONT_PAGES)
def test_a_crate_of_use_by_itself_has_a_front_page_that_is_tested(name):
    folder = ROOT / f"crates/wirecost-{name}"
    assert (folder / "README.md").read_text().count("```rust\n") == 1
    assert '#![doc = include_str!("../README.md")]\n' in (folder / "src/lib.rs").read_text()


@pytest.mark.parametrize("folder", CRATES, ids=lambda folder: folder.name)
def test_what_a_crate_includes_is_in_the_crate(folder):
    outside = []
    for path in sorted(folder.glob("src/**/*.rs")):
        if "tests" in path.relative_to(folder).parts or path.stem == "tests":
            continue
        code = path.read_text().split("\n#[cfg(test)]\n")[0]
        for included in INCLUDED.findall(code):
            if not Path(path.parent, included).absolute().resolve(strict=True).is_file() or ".." in relative(path, included, folder):
                outside.append(f"{path.relative_to(ROOT)}: {included}")
    assert outside == [], "link to them from the crate's folder `files`"


def relative(path, included, folder):
    """The path of what is included, from the folder of the crate, as it is written: links are not followed."""
    parts = list(path.parent.relative_to(folder).parts)
    for part in Path(included).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return parts


def test_cargo_packs_the_files_that_are_linked():
    packed = {
        name: subprocess.run(
            ["cargo", "package", "--locked", "--offline", "--allow-dirty", "--list", "--package", name],
            check=True, capture_output=True, text=True, cwd=ROOT,
        ).stdout.split()
        for name in ("wirecost", "wirecost-scenario")
    }
    assert {"files/docs/stacks.md", "files/schema/scenario.schema.json", "files/examples/storm.yaml"} <= set(packed["wirecost"])
    for folder in ("links", "devices", "tariffs", "certificates", "batteries", "measurements"):
        names = {f"files/{folder}/{path.name}" for path in (ROOT / folder).glob("*.yaml")}
        assert names and names <= set(packed["wirecost-scenario"]), folder


def test_the_sbom_has_what_the_program_is_built_from_and_no_more(listed):
    names = {component["name"] for component in listed["components"]}
    assert {"aws-lc-sys", "rustls", "wirecost-sim", "cc"} <= names
    assert not {"proptest", "wirecost-fuzz", "wirecost-formats", "windows-sys"} & names
    assert listed["metadata"]["component"]["name"] == "wirecost"


def test_every_crate_of_the_registry_has_checksum_and_licence(listed):
    for component in listed["components"]:
        assert component["licenses"][0]["expression"], component
        own = component["name"].startswith("wirecost")
        assert own != ("hashes" in component), component


def test_what_the_sbom_refers_to_is_in_it_once(listed):
    refs = [component["bom-ref"] for component in listed["components"]] + [listed["metadata"]["component"]["bom-ref"]]
    assert len(set(refs)) == len(refs)
    assert sorted(entry["ref"] for entry in listed["dependencies"]) == sorted(refs)
    assert {used for entry in listed["dependencies"] for used in entry["dependsOn"]} <= set(refs)


def test_an_sbom_of_the_same_time_has_the_same_bytes():
    assert sbom.build(ROOT, MACHINES[:1], "1.2.3", TIME) == sbom.build(ROOT, MACHINES[:1], "1.2.3", TIME)
