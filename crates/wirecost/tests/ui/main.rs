//! `wirecost ui`: its server, the figures of its page, and the page in a browser.

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod further;
mod hostile;
mod own;
mod server;
mod states;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use common::{ended, signal, wirecost};

/// A running page. Dropping it ends it.
struct Ui {
    child: Option<Child>,
    /// The address that it has printed, with what follows it.
    url: String,
    address: SocketAddr,
    home: TempDir,
}

impl Ui {
    fn start() -> Self {
        Self::on("127.0.0.1:0")
    }

    fn on(listen: &str) -> Self {
        let home = TempDir::new().expect("a folder");
        let mut command = wirecost(home.path());
        let command = command.args(["ui", "--listen", listen]).stdout(Stdio::null());
        let mut ui = Self::from_command(command);
        ui.home = home;
        ui
    }

    /// A page that another command line serves.
    fn from_command(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("wirecost ui");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let url = line
            .trim()
            .strip_prefix("the page is at ")
            .expect("an address")
            .to_owned();
        let rest = url.strip_prefix("http://").expect("a URL");
        let address = rest
            .split('/')
            .next()
            .expect("an address")
            .parse()
            .expect("an address");
        // What else it says must not stop it.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self {
            child: Some(child),
            url,
            address,
            home: TempDir::new().expect("a folder"),
        }
    }

    /// The folder in which it runs.
    fn home(&self) -> &Path {
        self.home.path()
    }

    /// A figure of the running program, as the kernel tells it: its threads, or kilobytes of memory.
    fn figure(&self, name: &str) -> u64 {
        let id = self.child.as_ref().expect("a program").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a status");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect(name).parse().expect("a number")
    }

    /// A connection with a request on it.
    fn ask(&self, request: &[u8]) -> TcpStream {
        let address = SocketAddr::from(([127, 0, 0, 1], self.address.port()));
        let mut stream = TcpStream::connect(address).expect("a connection");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("an open socket");
        stream.write_all(request).expect("a request");
        stream
    }

    /// The whole response to a request.
    fn response(&self, request: &[u8]) -> String {
        let mut response = Vec::new();
        // The server may close before everything is sent.
        drop(self.ask(request).read_to_end(&mut response));
        String::from_utf8_lossy(&response).into_owned()
    }

    fn get(&self, target: &str) -> String {
        self.response(format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").as_bytes())
    }

    /// The status and the JSON of an answer.
    fn json(&self, target: &str) -> (String, Value) {
        let response = self.get(target);
        let (head, content) = response.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status").to_owned();
        (status, serde_json::from_str(content).expect("JSON"))
    }

    /// The answer to a state when all of it is simulated.
    fn answer(&self, state: &str, more: &str) -> Value {
        let mut done = 0;
        loop {
            let (status, answer) = self.json(&format!("/api/choose?client=test&done={done}&{more}{state}"));
            assert_eq!(status, "200", "{state}: {answer}");
            done = answer["done"].as_u64().expect("a number");
            if answer["done"] == answer["of"] {
                return answer;
            }
        }
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            signal(child.id(), "INT");
            assert_eq!(ended(child).code, Some(0));
        }
    }
}
