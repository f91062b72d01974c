//! Another process of this program, which reads lines from its standard input and writes lines to its standard output.
//! It ends when its input does, and with this process however that ends.

use crate::process::foreground::StartError;
use crate::sys::process as calls;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How often to check whether an ending worker has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// The environment variables that a worker inherits: the search path, temporary files, and diagnostics. Secrets in
/// other variables are not passed on.
const KEPT: [&str; 6] = [
    "HOME",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "PATH",
    "RUST_BACKTRACE",
    "TMPDIR",
];

/// A process of this program. Dropping it kills it.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    /// `None` once its input is closed.
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

/// Why a worker gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It runs, and has written nothing.
    #[error("process {pid} did not answer within {} ms", waited.as_millis())]
    TimedOut {
        /// Its process id.
        pid: u32,
        /// How long wirecost waited.
        waited: Duration,
    },
    /// It has ended, or is about to.
    #[error("process {pid} has ended{}", status.map(|status| format!(", {status}")).unwrap_or_default())]
    Ended {
        /// Its process id.
        pid: u32,
        /// Its exit status, if known.
        status: Option<ExitStatus>,
    },
}

impl Worker {
    /// Starts `program` with `arguments`. Its standard error goes to this process's. Ctrl-C of the terminal does not
    /// reach it. Call it from a thread that outlives the worker: the kernel kills the child when the *thread* that
    /// started it ends (prctl(2), `PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// [`StartError::Program`] if it cannot be run.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Self, StartError> {
        let mut command = Command::new(program);
        // A group of its own: the terminal's Ctrl-C goes to the foreground group, and a worker must report before it ends.
        command.args(arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env_clear();
        let kept = KEPT
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(kept);
        calls::tie_to_thread(&mut command);
        let refused = |source| StartError::Program {
            program: program.display().to_string(),
            source,
        };
        let mut child = command.spawn().map_err(refused)?;
        let stdin = child.stdin.take();
        let (sender, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || pass_on(output, &sender));
        }
        Ok(Self { child, stdin, lines })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to it.
    ///
    /// # Errors
    /// It has ended, or its input is closed.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{line}\n").as_bytes())
    }

    /// A sender of further lines. A separate thread writes them, so a worker that does not read delays no other worker.
    /// The worker's input ends with the last sender. [`Worker::send`] fails from now on.
    pub fn sender(&mut self) -> mpsc::Sender<String> {
        let (sender, lines) = mpsc::channel();
        if let Some(input) = self.stdin.take() {
            std::thread::spawn(move || write_lines(&lines, input));
        }
        sender
    }

    /// Its next line.
    ///
    /// # Errors
    /// [`NoAnswer`] if there is none within `patience`, or ever.
    pub fn receive(&mut self, patience: Duration) -> Result<String, NoAnswer> {
        let pid = self.pid();
        self.lines.recv_timeout(patience).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => NoAnswer::TimedOut {
                pid,
                waited: patience,
            },
            mpsc::RecvTimeoutError::Disconnected => NoAnswer::Ended {
                pid,
                status: self.exit_status(),
            },
        })
    }

    /// A receiver of its further lines, for another thread. [`Worker::receive`] returns none from now on.
    pub fn receiver(&mut self) -> mpsc::Receiver<String> {
        let (_, nothing) = mpsc::channel();
        std::mem::replace(&mut self.lines, nothing)
    }

    /// How it ended; `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Lets it end by itself within `patience`, and kills it after that. Returns how it ended.
    ///
    /// # Errors
    /// None for a child of this process.
    pub fn stop(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        self.stdin = None;
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(PAUSE);
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.exit_status().is_none() && self.child.kill().is_ok() {
            // There is no caller to report to.
            let _ = self.child.wait();
        }
    }
}

/// Writes lines to a process until the sender is gone or the process has ended. The exit status shows the latter.
fn write_lines(lines: &mpsc::Receiver<String>, mut input: ChildStdin) {
    for line in lines {
        if input.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// Passes lines on until the output ends or the receiver is gone.
fn pass_on(output: ChildStdout, sender: &mpsc::Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if sender.send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Worker {
        Worker::start(Path::new("/bin/sh"), &["-c", script]).expect("a shell")
    }

    #[test]
    fn a_worker_answers_and_ends_with_its_input() {
        let mut worker = shell("while read line; do echo \"heard $line\"; done; exit 7");
        for word in ["one", "two"] {
            worker.send(word).expect("it listens");
            let heard = worker.receive(PATIENCE).expect("it answers");
            assert_eq!(heard, format!("heard {word}"));
        }
        assert_eq!(worker.stop(PATIENCE).expect("it ends").code(), Some(7));
        assert!(matches!(worker.receive(PATIENCE), Err(NoAnswer::Ended { .. })));
        assert!(worker.send("three").is_err());
    }

    #[test]
    fn a_worker_inherits_only_the_environment_it_needs() {
        // Cargo and scripts/test-programs set it.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let mut worker = shell("echo ${CARGO_PKG_NAME-none} $PATH; read line");
        let heard = worker.receive(PATIENCE).expect("it answers");
        let path = std::env::var("PATH").expect("a path");
        assert_eq!(heard, format!("none {path}"));
    }

    #[test]
    fn another_thread_reads_a_worker_until_it_ends() {
        let mut worker = shell("read line; echo \"heard $line\"; kill -9 $$");
        let lines = worker.receiver();
        let reader = std::thread::spawn(move || lines.iter().collect::<Vec<_>>());
        worker.send("one").expect("it listens");
        assert_eq!(reader.join().expect("a reader"), ["heard one"]);
        let status = worker.stop(PATIENCE).expect("it ends");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn a_worker_that_does_not_read_blocks_no_sender() {
        let mut worker = shell("exec wc -c");
        let pid = worker.pid().cast_signed();
        let sender = worker.sender();
        calls::kill(pid, libc::SIGSTOP).expect("it stops");
        let (done, given) = mpsc::channel();
        std::thread::spawn(move || {
            // More than a pipe holds.
            for _ in 0..3 {
                sender.send("x".repeat(1 << 20)).expect("it is given");
            }
            drop(sender);
            done.send(()).expect("the test waits");
        });
        given.recv_timeout(PATIENCE).expect("giving waits for nobody");
        assert!(worker.send("more").is_err());
        calls::kill(pid, libc::SIGCONT).expect("it goes on");
        let heard = worker.receive(PATIENCE).expect("it counts");
        assert_eq!(heard.trim(), (3 * ((1 << 20) + 1)).to_string());
    }

    #[test]
    fn a_worker_that_does_not_end_is_killed() {
        let mut worker = shell("trap '' TERM; while :; do sleep 1; done");
        let silent = worker.receive(Duration::from_millis(1));
        assert!(matches!(silent, Err(NoAnswer::TimedOut { .. })));
        assert_eq!(
            worker.stop(Duration::from_millis(1)).expect("it ends").code(),
            None
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let refused = Worker::start(Path::new("/nowhere/program"), &[]);
        let text = refused.map(drop).expect_err("there is none").to_string();
        assert!(text.contains("/nowhere/program"), "{text}");
    }
}
