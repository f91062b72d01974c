//! Ctrl-C and its relatives are the program's.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::common::{Said, ended, eventually, need_program, said, signal};
use super::{Home, assert_code};

#[test]
fn a_signal_to_us_is_passed_on() {
    let home = Home::new();
    let script = "trap 'echo caught; exit 7' TERM; touch {folder}/up; while :; do sleep 0.05; done";
    let mut command = home.command("-q", &["sh", "-c", script]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    eventually("the program runs", || home.file("up").exists());
    signal(child.id(), "TERM");
    let said = ended(child);
    assert_code(&said, 7);
    assert_eq!(said.stdout, "caught\n");
    assert!(home.file("link.json").exists(), "the results are written");
}

#[test]
fn a_signal_before_the_program_starts_ends_the_run() {
    let home = Home::new();
    let mut command = home.command("-q --rtt 2s", &["true"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    eventually("the run has begun", || home.path().join("run").exists());
    thread::sleep(Duration::from_millis(300));
    signal(child.id(), "TERM");
    let said = ended(child);
    assert_code(&said, 143);
    assert!(
        said.line("error: ")
            .is_some_and(|line| line.contains("before the program had started"))
    );
}

#[test]
fn ctrl_c_at_the_terminal_reaches_the_program_once_each_time() {
    need_program("python3", "python3");
    let home = Home::new();
    let script = "trap 'echo interrupted' INT; touch {folder}/up; \
                  while [ ! -e {folder}/done ]; do sleep 0.05; done; exit 5";
    let said = typed(&home, 2, script);
    assert_code(&said, 5);
    assert_eq!(said.stdout.matches("interrupted").count(), 2, "{}", said.stdout);
}

#[test]
fn a_program_that_ctrl_c_ends_leaves_its_results() {
    need_program("python3", "python3");
    let home = Home::new();
    let said = typed(&home, 1, "touch {folder}/up; exec sleep 60");
    assert_code(&said, 128 + 2);
    assert_eq!(home.summary()["signal"], 2);
}

/// Runs a script at a terminal of its own, on which Ctrl-C is typed so often.
fn typed(home: &Home, times: u32, script: &str) -> Said {
    // Whoever starts the tests in the background has them ignore SIGINT, and a shell cannot trap what it was told to ignore.
    let typist = "import os, pty, signal, sys, time\n\
                  signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
                  pid, terminal = pty.fork()\n\
                  if pid == 0: os.execv(sys.argv[2], sys.argv[2:])\n\
                  while not os.path.exists('run/up'): time.sleep(0.02)\n\
                  for n in range(int(sys.argv[1])):\n\
                  \x20   time.sleep(0.5); os.write(terminal, b'\\x03')\n\
                  time.sleep(0.5); open('run/done', 'w')\n\
                  said = b''\n\
                  try:\n\
                  \x20   while True: said += os.read(terminal, 1000)\n\
                  except OSError: pass\n\
                  print(said.decode())\n\
                  sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let command = home.command("-q", &["sh", "-c", script]);
    let mut python = std::process::Command::new("python3");
    python
        .current_dir(home.path())
        .args(["-c", typist, &times.to_string()]);
    python.arg(command.get_program()).args(command.get_args());
    said(&mut python)
}
