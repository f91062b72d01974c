//! Cases that each need a process of their own: this program runs itself again, once per case.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::process::{Command, ExitCode};

/// A case: its name, whether it gives up root first, and what it does. `Err` says what the machine lacks.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) user: User,
    pub(crate) run: fn() -> Result<(), String>,
}

/// Who runs a case.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum User {
    Caller,
    Nobody,
}

const CASE: &str = "WIRECOST_TEST_CASE";
const NOBODY: u32 = 65_534;

/// Runs every case whose name contains the first argument, or the one that the parent asked for.
pub(crate) fn main(cases: &[Case]) -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        let case = cases.iter().find(|case| case.name == name).expect("a known case");
        return run_here(case);
    }
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    let chosen = cases.iter().filter(|case| case.name.contains(&filter));
    let failed = chosen.filter(|case| !passes(case)).count();
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_here(case: &Case) -> ExitCode {
    if case.user == User::Nobody {
        become_nobody();
    }
    match (case.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("not run: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn passes(case: &Case) -> bool {
    let program = std::env::current_exe().expect("the path of this program");
    let output = Command::new(program)
        .env(CASE, case.name)
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let verdict = match output.status.code() {
        Some(0) => "ok".to_string(),
        _ => format!("FAILED\n{text}{}", String::from_utf8_lossy(&output.stderr)),
    };
    println!("case {} ... {verdict}", case.name);
    !verdict.starts_with("FAILED")
}

/// Gives up root for good. Does nothing for an ordinary user, who has nothing to give up.
fn become_nobody() {
    // SAFETY: these calls take no pointers but a null list of length 0; the process has one thread.
    unsafe {
        if libc::geteuid() != 0 {
            return;
        }
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        // A login would give a process whose /proc files are its user's; after setresuid they are root's.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1), 0);
    }
}
