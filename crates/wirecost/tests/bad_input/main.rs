//! A failure has one sentence with a remedy, ends with the documented exit code, and leaves nothing behind. Earlier
//! results stay readable.

#[path = "../common/mod.rs"]
mod common;

mod interrupted;
mod machine;
mod stdout;
mod usage;

use std::collections::BTreeSet;
use std::path::Path;

/// Fails if a run in `folder` has left a process, an interface, a mounted namespace or an incomplete file.
fn nothing_is_left_behind(folder: &Path) {
    assert_eq!(processes_of(folder), Vec::<String>::new(), "processes");
    let interfaces: BTreeSet<String> = names(Path::new("/sys/class/net")).collect();
    let ours = ["wirecost0", "device", "server"].map(str::to_owned);
    assert!(
        ours.iter().all(|name| !interfaces.contains(name)),
        "{interfaces:?}"
    );
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("/proc");
    assert!(!mounts.contains("nsfs"), "a namespace is mounted: {mounts}");
    let partial = files(folder)
        .into_iter()
        .filter(|file| file.ends_with(".partial"));
    assert_eq!(
        partial.collect::<Vec<_>>(),
        Vec::<String>::new(),
        "half-written files"
    );
}

/// The command lines that name `folder`, without zombies.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("a text");
    let pids = names(Path::new("/proc")).filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    // A process that has ended has no command line, and a zombie has an empty one.
    let lines = pids.filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok());
    lines
        .filter(|line| line.contains(folder))
        .map(|line| line.replace('\0', " "))
        .collect()
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Every file below a folder, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = folder.join(&name);
        match path.is_dir() {
            true => found.extend(files(&path).into_iter().map(|file| format!("{name}/{file}"))),
            false => found.push(name),
        }
    }
    found
}
