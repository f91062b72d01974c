use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn refusal<T: std::fmt::Debug>(read: Result<T, FileFault>) -> String {
    read.expect_err("a refusal").to_string()
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("fifo")).status();
    assert!(made.expect("mkfifo").success());
    symlink(at("fifo"), at("link")).expect("a link");
    symlink(at("loop"), at("loop")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    let zero = Path::new("/dev/zero").to_owned();
    for (path, says) in [
        (at("fifo"), "it is a named pipe (FIFO), not a file"),
        (at("link"), "it is a named pipe (FIFO), not a file"),
        (folder.path().to_owned(), "it is a folder, not a file"),
        (zero, "it is a device, not a file"),
        (at("socket"), "it is a socket, not a file"),
        (at("loop"), "Too many levels of symbolic links (os error 40)"),
        (at("nowhere"), "No such file or directory (os error 2)"),
    ] {
        assert_eq!(refusal(Input::Scenario.text(&path)), says, "{}", path.display());
    }
    assert!(
        Input::Scenario
            .text(&at("nowhere"))
            .expect_err("absent")
            .is_absent()
    );
}

#[test]
fn a_pipe_without_a_name_is_read_to_its_end() {
    let (read, mut write) = io::pipe().expect("a pipe");
    io::Write::write_all(&mut write, b"seed: 1\n").expect("written");
    drop(write);
    let path = format!("/proc/self/fd/{}", read.as_raw_fd());
    assert_eq!(Input::Scenario.text(Path::new(&path)).expect("read"), "seed: 1\n");
}

#[test]
fn the_bound_is_that_of_the_kind_and_is_known_before_anything_is_read() {
    let folder = folder();
    let path = folder.path().join("long");
    // A file with a hole: it has the length and no blocks.
    let file = fs::File::create(&path).expect("a file");
    file.set_len(Input::Device.bound() + 1).expect("longer");
    assert_eq!(
        refusal(Input::Device.bytes(&path)),
        "it is longer than 1 MiB, the most for a device file"
    );
    assert_eq!(Input::Scenario.bytes(&path).expect("shorter").len(), 1 << 20 | 1);
    let endless = refusal(Input::Secret.bytes_of(io::repeat(0)));
    assert_eq!(
        endless,
        "it is longer than 64 KiB, the most for a file with a secret"
    );
}

#[test]
fn a_byte_that_is_no_text_is_named_with_its_line() {
    let folder = folder();
    let path = folder.path().join("latin1");
    fs::write(&path, b"a: 1\nb: caf\xe9\n").expect("written");
    assert_eq!(
        refusal(Input::Scenario.text(&path)),
        "line 2 is not text in UTF-8: byte 7 of the line is 0xe9"
    );
    assert_eq!(
        Input::Scenario.lossy_text(&path).expect("read"),
        "a: 1\nb: caf\u{fffd}\n"
    );
}
