//! Ctrl-C and its relatives are the program's.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::common::{ended, eventually, need_program, said, signal};
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
    // A terminal of its own, on which Ctrl-C is typed twice.
    let typist = "import os, pty, sys, time\n\
                  pid, terminal = pty.fork()\n\
                  if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
                  while not os.path.exists('run/up'): time.sleep(0.02)\n\
                  for n in range(2):\n\
                  \x20   os.write(terminal, b'\\x03'); time.sleep(0.7)\n\
                  open('run/done', 'w')\n\
                  said = b''\n\
                  try:\n\
                  \x20   while True: said += os.read(terminal, 1000)\n\
                  except OSError: pass\n\
                  print(said.count(b'interrupted'))\n\
                  sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let script = "trap 'echo interrupted' INT; touch {folder}/up; \
                  while [ ! -e {folder}/done ]; do sleep 0.05; done; exit 5";
    let command = home.command("-q", &["sh", "-c", script]);
    let mut python = std::process::Command::new("python3");
    python.current_dir(home.path()).args(["-c", typist]);
    python.arg(command.get_program()).args(command.get_args());
    let said = said(&mut python);
    assert_code(&said, 5);
    assert_eq!(said.stdout, "2\n");
}
