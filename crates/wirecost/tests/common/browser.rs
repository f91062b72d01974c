//! A headless Chromium, driven by its DevTools protocol over a pipe: what a page asks for, logs and shows.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

const CHROMIUM: &str = "/usr/bin/chromium";
/// How long the browser may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page. Dropping it ends it.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    number: u64,
    session: Option<String>,
    /// What it has told without being asked.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// A browser with an empty page.
    pub(crate) fn start() -> Self {
        assert!(
            Path::new(CHROMIUM).exists(),
            "there is no {CHROMIUM}: scripts/test installs it"
        );
        let profile = TempDir::new().expect("a folder");
        // The protocol is at the descriptors 3 and 4.
        let line = format!(
            "exec {CHROMIUM} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
             --disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe \
             --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' --user-data-dir={} about:blank \
             3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.path().display()
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("a browser");
        let commands = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        thread::spawn(move || {
            for message in stdout.split(0).map_while(Result::ok) {
                drop(sender.send(serde_json::from_slice(&message).expect("JSON")));
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            number: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Network", "Log", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// The answer to a command.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut command = json!({"id": self.number, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands
            .write_all(format!("{command}\0").as_bytes())
            .expect("the browser listens");
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect(method);
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page in a window of this width, and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str, width: u32) {
        let loaded = self.loads();
        let is_phone = width < 600;
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone});
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Page.navigate", json!({ "url": url }));
        while self.loads() == loaded {
            self.events
                .push(self.answers.recv_timeout(PATIENCE).expect("a load"));
        }
    }

    /// The pages that have loaded.
    fn loads(&self) -> usize {
        let loads = self.events.iter();
        loads
            .filter(|event| event["method"] == "Page.loadEventFired")
            .count()
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// What the page has logged, and its errors.
    pub(crate) fn console(&mut self) -> Vec<String> {
        let is_logged = |event: &&Value| {
            let names = [
                "Runtime.consoleAPICalled",
                "Runtime.exceptionThrown",
                "Log.entryAdded",
            ];
            names.contains(&event["method"].as_str().unwrap_or_default())
        };
        self.told()
            .iter()
            .filter(is_logged)
            .map(Value::to_string)
            .collect()
    }

    /// The URLs that the page has asked for. Its icon is data.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let asked = self.told().iter();
        let asked = asked.filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = asked.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:"))
            .map(str::to_owned)
            .collect()
    }

    /// All events until now.
    fn told(&mut self) -> &[Value] {
        loop {
            match self.answers.recv_timeout(Duration::from_millis(200)) {
                Ok(event) => self.events.push(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return &self.events,
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
