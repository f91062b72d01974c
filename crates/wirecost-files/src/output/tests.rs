use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_file_of_ours_is_not_written_through_a_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("victim"), "precious").expect("written");
    symlink(at("victim"), at("link")).expect("a link");
    for existing in [Existing::Replaced, Existing::Continued] {
        let fault = own(&at("link"), existing, SECRET).expect_err("a refusal");
        assert!(matches!(fault, FileFault::Link), "{fault}");
    }
    let taken = own(&at("victim"), Existing::Refused, SECRET).expect_err("a refusal");
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(at("victim")).expect("a text"), "precious");
    write_own(&at("victim"), "new", SECRET).expect("written");
    assert_eq!(fs::read_to_string(at("victim")).expect("a text"), "new");
    write_own(&at("secret"), "key", SECRET).expect("written");
    let mode = fs::metadata(at("secret")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, SECRET);
}

#[test]
fn a_file_to_write_is_no_named_pipe_and_nothing_waits_for_a_reader() {
    let folder = folder();
    let fifo = folder.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    let says = "it is a named pipe (FIFO), not a file";
    for existing in [Existing::Replaced, Existing::Continued] {
        assert_eq!(
            own(&fifo, existing, PUBLIC).expect_err("a refusal").to_string(),
            says
        );
        assert_eq!(named(&fifo, existing).expect_err("a refusal").to_string(), says);
    }
    assert_eq!(
        named(folder.path(), Existing::Replaced)
            .expect_err("a refusal")
            .to_string(),
        "it is a folder, not a file"
    );
    write_named(Path::new("/dev/null"), "nothing").expect("a device that takes everything");
}

#[test]
fn folders_of_runs_that_begin_together_differ() {
    let folder = folder();
    let path = folder.path().join("runs/2026");
    let made: Vec<PathBuf> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| new_folder(&path))).collect();
        let made = makers.into_iter().map(|maker| maker.join().expect("no panic"));
        made.map(|made| made.expect("a folder")).collect()
    });
    let mut names: Vec<&PathBuf> = made.iter().collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8, "{made:?}");
    assert!(made.contains(&path) && made.contains(&numbered(&path, 8)));
}

#[test]
fn a_folder_of_ours_is_no_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    symlink(folder.path(), at("cells")).expect("a link");
    assert!(matches!(own_folder(&at("cells")), Err(FileFault::Link)));
    own_folder(&at("latency")).expect("a new folder");
    own_folder(&at("latency")).expect("the same folder");
    fs::write(at("file"), "").expect("written");
    assert_eq!(
        own_folder(&at("file")).expect_err("a file").kind(),
        io::ErrorKind::AlreadyExists
    );
}
