//! Compiles the folders of `studies/` into the library: their names and files are data, which no code knows.

#![expect(
    clippy::disallowed_macros,
    reason = "Cargo reads the output of a build script"
)]
#![allow(clippy::disallowed_methods, reason = "it writes the folder of the build")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("studies");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut code = String::from("&[\n");
    for folder in sorted(&root).iter().filter(|path| path.is_dir()) {
        writeln!(code, "({:?}, &[", name(folder)).expect("writing to a text");
        for file in sorted(folder) {
            // Relative to the crate: the code is the same wherever the crate is.
            let path = format!("/studies/{}/{}", name(folder), name(&file));
            let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))");
            writeln!(code, "({:?}, {text}),", name(&file)).expect("writing to a text");
        }
        code.push_str("]),\n");
    }
    code.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by Cargo"));
    let file = out.join("studies.rs");
    // A folder of builds that was copied with hard links shares the file with its original.
    let _ = fs::remove_file(&file);
    fs::write(file, code).expect("the folder of the build");
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of studies");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
