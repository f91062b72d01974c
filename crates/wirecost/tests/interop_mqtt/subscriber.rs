//! mosquitto_sub and mosquitto_pub as parts of a test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::need_program;
use crate::peers::{PATIENCE, Server, client};

const PACKAGE: &str = "mosquitto-clients";
const MARK: &str = "message ";

/// A running mosquitto_sub; it is killed with this value.
pub(crate) struct Subscriber {
    process: Child,
    lines: Receiver<String>,
}

impl Subscriber {
    /// Starts mosquitto_sub with arguments that are separated by blanks and with a format for messages, and waits
    /// until its subscriptions are acknowledged.
    pub(crate) fn start(server: &Server, format: &str, arguments: &str) -> Self {
        let subscriber = Self::connect(server, format, arguments);
        while !subscriber.line("no SUBACK").starts_with("Subscribed") {}
        subscriber
    }

    /// The same without waiting.
    pub(crate) fn connect(server: &Server, format: &str, arguments: &str) -> Self {
        need_program("mosquitto_sub", PACKAGE);
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "mosquitto_sub", "-d"]).args(at(server));
        command.args(["-F", &format!("{MARK}{format}")]);
        let mut process = command
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("stdbuf(1) starts");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let texts = output.lines().map_while(Result::ok);
            // The test may end before the program.
            let _ended = texts.map(|line| sender.send(line)).find(Result::is_err);
        });
        Self { process, lines }
    }

    fn line(&self, missing: &str) -> String {
        let line = self.lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("mosquitto_sub: {missing}"))
    }

    /// The next message in the format asked for.
    pub(crate) fn message(&self) -> String {
        loop {
            if let Some(message) = self.line("no message").strip_prefix(MARK) {
                return message.to_owned();
            }
        }
    }

    /// The next messages.
    pub(crate) fn messages(&self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.message()).collect()
    }

    /// The messages until one that says `end`, which is left out.
    pub(crate) fn messages_until(&self, end: &str) -> Vec<String> {
        std::iter::repeat_with(|| self.message())
            .take_while(|message| message != end)
            .collect()
    }

    /// Whether no message comes for a while.
    pub(crate) fn is_silent_for(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        !self.lines.try_iter().any(|line| line.starts_with(MARK))
    }

    /// Sends a signal, such as `KILL`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.expect("kill(1) starts").success());
    }

    /// Waits until the program has ended by itself.
    pub(crate) fn wait(&mut self) {
        self.process.wait().expect("an exit status");
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Runs mosquitto_sub to its end with arguments that are separated by blanks.
pub(crate) fn subscribe(server: &Server, arguments: &str) {
    run("mosquitto_sub", server, arguments);
}

/// Runs mosquitto_pub to its end with arguments that are separated by blanks.
pub(crate) fn publish(server: &Server, arguments: &str) {
    run("mosquitto_pub", server, arguments);
}

fn run(program: &str, server: &Server, arguments: &str) {
    let arguments = arguments.split(' ').map(String::from);
    let all: Vec<String> = at(server).into_iter().chain(arguments).collect();
    let output = client(program, PACKAGE, &all);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {all:?}: {said}\n{}",
        server.log()
    );
}

/// Publishes each line as a message of its own, over one connection.
pub(crate) fn publish_lines(server: &Server, arguments: &str, lines: &[String]) {
    need_program("mosquitto_pub", PACKAGE);
    let mut process = Command::new("mosquitto_pub")
        .args(at(server))
        .arg("-l")
        .args(arguments.split(' '))
        .stdin(Stdio::piped())
        .spawn()
        .expect("mosquitto_pub starts");
    let mut input = process.stdin.take().expect("a pipe");
    let text = lines.join("\n") + "\n";
    input.write_all(text.as_bytes()).expect("mosquitto_pub reads");
    drop(input);
    assert!(process.wait().expect("an exit status").success());
}

fn at(server: &Server) -> [String; 4] {
    [
        "-h".into(),
        "127.0.0.1".into(),
        "-p".into(),
        server.port.to_string(),
    ]
}
