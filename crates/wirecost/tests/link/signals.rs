//! Ctrl-C and similar signals belong to the program.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::common::{Said, ended, eventually, need_program, said, signal};
use super::{Home, assert_code};

#[test]
#[ignore = "needs root"]
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
#[ignore = "needs root"]
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
#[ignore = "needs root and python3"]
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
#[ignore = "needs root and python3"]
fn a_program_that_ctrl_c_ends_leaves_its_results() {
    need_program("python3", "python3");
    let home = Home::new();
    let said = typed(&home, 1, "touch {folder}/up; exec sleep 60");
    assert_code(&said, 128 + 2);
    assert_eq!(home.summary()["signal"], 2);
}

#[test]
#[ignore = "needs root and python3"]
fn ctrl_z_stops_the_program_and_us_and_fg_goes_on() {
    need_program("python3", "python3");
    let home = Home::new();
    // What a shell does: a process group in the foreground, told of stops, and sent on again.
    let shell = "import os, pty, signal, sys, time\n\
                 signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n\
                 pid, terminal = pty.fork()\n\
                 if pid == 0:\n\
                 \x20   signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n\
                 \x20   job = os.fork()\n\
                 \x20   if job == 0:\n\
                 \x20       os.setpgid(0, 0)\n\
                 \x20       os.tcsetpgrp(0, os.getpid())\n\
                 \x20       signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n\
                 \x20       os.execv(sys.argv[1], sys.argv[1:])\n\
                 \x20   _, status = os.waitpid(job, os.WUNTRACED)\n\
                 \x20   if not os.WIFSTOPPED(status): os._exit(99)\n\
                 \x20   print('stopped', flush=True)\n\
                 \x20   os.tcsetpgrp(0, os.getpgrp())\n\
                 \x20   time.sleep(0.5)\n\
                 \x20   os.tcsetpgrp(0, job)\n\
                 \x20   os.killpg(job, signal.SIGCONT)\n\
                 \x20   os._exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))\n\
                 while not os.path.exists('run/up'): time.sleep(0.02)\n\
                 time.sleep(0.3); os.write(terminal, b'\\x1a')\n";
    let script = "touch {folder}/up; sleep 1; sleep 1; exit 5";
    let said = at_terminal(&home, shell, "", &["sh", "-c", script]);
    assert_code(&said, 5);
    assert!(said.stdout.contains("stopped"), "{}", said.stdout);
}

#[test]
#[ignore = "needs root and python3"]
fn a_shell_has_its_jobs_and_we_have_the_terminal_after_it() {
    need_program("python3", "python3");
    let home = Home::new();
    let typist = "import os, pty, sys, time\n\
                  pid, terminal = pty.fork()\n\
                  if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
                  while not os.path.exists('run/up'): time.sleep(0.02)\n\
                  os.write(terminal, b'sleep 60 & jobs; kill %1; wait %1\\n')\n\
                  os.write(terminal, b'echo pid $$ of $(cat /proc/1/comm); stty tostop; exit 5\\n')\n";
    let program = [
        "bash",
        "--norc",
        "-i",
        "-c",
        "touch {folder}/up; exec bash --norc -i",
    ];
    let said = at_terminal(&home, typist, "", &program);
    assert_code(&said, 5);
    assert!(said.stdout.contains("Running"), "{}", said.stdout);
    assert!(said.stdout.contains("pid 2 of wirecost-init"), "{}", said.stdout);
    assert!(!said.stdout.contains("no job control"), "{}", said.stdout);
}

/// Runs wirecost at the terminal that a script of Python makes, and shows all that comes of it.
fn at_terminal(home: &Home, script: &str, options: &str, program: &[&str]) -> Said {
    let rest = "said = b''\n\
                try:\n\
                \x20   while True: said += os.read(terminal, 1000)\n\
                except OSError: pass\n\
                print(said.decode())\n\
                sys.stdout.flush()\n\
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let command = home.command(options, program);
    let mut python = std::process::Command::new("python3");
    python.current_dir(home.path());
    python.args(["-c", &format!("{script}{rest}")]);
    python.arg(command.get_program()).args(command.get_args());
    said(&mut python)
}

/// Runs a script at its own terminal, where Ctrl-C is typed `times` times.
fn typed(home: &Home, times: u32, script: &str) -> Said {
    // Whoever starts the tests in the background has them ignore SIGINT, and a shell cannot trap what it was told to ignore.
    let typist = format!(
        "import os, pty, signal, sys, time\n\
         signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
         pid, terminal = pty.fork()\n\
         if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
         while not os.path.exists('run/up'): time.sleep(0.02)\n\
         for n in range({times}):\n\
         \x20   time.sleep(0.5); os.write(terminal, b'\\x03')\n\
         time.sleep(0.5); open('run/done', 'w')\n"
    );
    at_terminal(home, &typist, "-q", &["sh", "-c", script])
}
