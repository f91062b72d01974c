//! Runs the program for a bounded time in bounded memory.

use std::ffi::OsString;
use std::fs::read_to_string;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Said, wirecost};

/// After this time a command hangs. All commands here take far less.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most memory of a command, in KiB.
const MOST_KIB: u64 = 200 << 10;
/// The documented exit codes of commands that end without a signal of ours.
const CODES: [i32; 10] = [0, 1, 2, 10, 11, 12, 13, 14, 98, 99];

/// What a command said. Fails if it hangs, takes too much memory, panics, says more than one error, ends with an exit code that is
/// not documented, or sends what controls a terminal.
pub(crate) fn bounded(folder: &Path, words: &[OsString]) -> Said {
    let child = wirecost(folder)
        .args(words)
        .env_remove("SSLKEYLOGFILE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let said = ended(child, &format!("{words:?}"));
    let place = format!("{words:?}: {said:?}");
    assert!(said.code.is_some_and(|code| CODES.contains(&code)), "{place}");
    assert!(!said.stderr.contains("panicked"), "{place}");
    let errors = said.stderr.lines().filter(|line| line.starts_with("error: "));
    assert!(errors.count() <= 1, "{place}");
    for text in [&said.stdout, &said.stderr] {
        let is_harmless = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
        assert!(text.chars().all(is_harmless), "{place}");
    }
    said
}

fn ended(mut child: Child, place: &str) -> Said {
    let read = |mut source: Box<dyn std::io::Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            source.read_to_end(&mut bytes).expect("readable");
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
    let began = Instant::now();
    let (code, peak) = loop {
        let peak = peak_kib(child.id());
        if let Some(status) = child.try_wait().expect("a child") {
            break (status.code(), peak);
        }
        if peak > MOST_KIB || began.elapsed() > PATIENCE {
            child.kill().expect("killed");
            child.wait().expect("a child");
            panic!("{place}: {peak} KiB after {:?}", began.elapsed());
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(peak <= MOST_KIB, "{place}: {peak} KiB");
    Said {
        code,
        stdout: stdout.join().expect("no panic"),
        stderr: stderr.join().expect("no panic"),
    }
}

/// The most memory that a process had at once; 0 for one that has ended.
fn peak_kib(pid: u32) -> u64 {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or_default()
}
