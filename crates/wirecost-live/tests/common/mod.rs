//! Test cases that each need their own process: this program runs itself again for each case. A case with requirements
//! is ignored like any other such test: `--include-ignored` runs it, and `--ignored` runs only such cases.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::process::{Command, ExitCode};

/// A case: its name, its requirements ("" for none), whether it gives up root first, and its function. `Err` names what
/// the machine lacks.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) needs: &'static str,
    pub(crate) user: User,
    pub(crate) run: fn() -> Result<(), String>,
}

/// The user that runs a case.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum User {
    Caller,
    Nobody,
}

const CASE: &str = "WIRECOST_TEST_CASE";
const NOBODY: u32 = 65_534;

/// Runs every case whose name contains the first argument that is not a flag, or the case that the parent process
/// requests.
pub(crate) fn main(cases: &[Case]) -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        let case = cases.iter().find(|case| case.name == name).expect("a known case");
        return run_here(case);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asks = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let is_asked = |case: &&Case| {
        filter.is_none_or(|filter| case.name.contains(filter)) && (!asks("--ignored") || case.is_ignored())
    };
    let chosen = cases.iter().filter(is_asked);
    if asks("--list") {
        chosen.for_each(|case| println!("{}: test", case.name));
        return ExitCode::SUCCESS;
    }
    let runs_ignored = asks("--ignored") || asks("--include-ignored");
    let (run, ignored): (Vec<_>, Vec<_>) = chosen.partition(|case| runs_ignored || !case.is_ignored());
    for case in ignored {
        println!("case {} ... ignored, needs {}", case.name, case.needs);
    }
    let failed = run.into_iter().filter(|case| !passes(case)).count();
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Case {
    const fn is_ignored(&self) -> bool {
        !self.needs.is_empty()
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

/// Gives up root for good. Does nothing for an ordinary user.
fn become_nobody() {
    // SAFETY: these calls take no pointers but a null list of length 0; the process has one thread.
    unsafe {
        if libc::geteuid() != 0 {
            return;
        }
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        // After a login, a process's /proc files belong to its user. After setresuid they belong to root.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1), 0);
    }
}
