//! HTTP/1.1 with programs that are not ours, over loopback: curl asks our server, our client asks Caddy.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver needs sockets, threads and a clock"
)]

use std::convert::Infallible;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wirecost_http::client::{Command, Event};
use wirecost_http::http1::server::Stats;
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate, Status};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

const PATIENCE: Duration = Duration::from_secs(10);

/// A loop of one thread: sockets are asked in turn, and everything is accounted.
struct Loop<E: Endpoint> {
    endpoint: E,
    streams: Vec<Option<TcpStream>>,
    events: Vec<E::Event>,
    began: std::time::Instant,
    received: u64,
    consumed: u64,
}

impl<E: Endpoint<Error = Infallible>> Loop<E> {
    fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            streams: Vec::new(),
            events: Vec::new(),
            began: std::time::Instant::now(),
            received: 0,
            consumed: 0,
        }
    }

    fn open(&mut self, stream: TcpStream) {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let (flow, peer) = (FlowId(self.streams.len() as u32), stream.peer_addr().unwrap());
        self.streams.push(Some(stream));
        self.input(Input::Opened { flow, peer });
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        let now = Instant::from_nanos(self.began.elapsed().as_nanos() as u64);
        let Ok(()) = self.endpoint.handle_input(input, now);
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => self.write(flow, out.bytes()),
                Output::Consumed { .. } => self.consumed += out.covered(),
                Output::Close { flow, .. } => {
                    if let Some(stream) = &self.streams[flow.0 as usize] {
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                    }
                }
                Output::Event(event) => self.events.push(event),
                Output::Timeout(_) => return,
            }
        }
    }

    fn write(&mut self, flow: FlowId, mut bytes: &[u8]) {
        let Some(stream) = &mut self.streams[flow.0 as usize] else {
            return;
        };
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(_) => return,
            }
        }
    }

    /// Asks every socket once.
    fn turn(&mut self) {
        let mut bytes = [0; 10_000];
        for index in 0..self.streams.len() {
            let flow = FlowId(index as u32);
            let Some(stream) = &mut self.streams[index] else {
                continue;
            };
            match stream.read(&mut bytes) {
                Ok(0) => {
                    self.input(Input::PeerClosed { flow });
                    self.streams[index] = None;
                }
                Ok(len) => {
                    self.received += len as u64;
                    let bytes = &bytes[..len];
                    self.input(Input::Received { flow, bytes });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.streams[index] = None,
            }
        }
        self.input(Input::Timeout);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Our server in a thread.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Stats, u64)>,
}

impl Running {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut server = Loop::new(Server::new(ServerConfig::default()));
            while !until.load(Ordering::Relaxed) {
                if let Ok((stream, _)) = listener.accept() {
                    server.open(stream);
                }
                server.turn();
            }
            assert_eq!(server.received, server.consumed);
            (server.endpoint.stats(), server.streams.len() as u64)
        });
        Self {
            address,
            stop,
            thread,
        }
    }

    /// Ends it; what it refused, and how many connections there were.
    fn stop(self) -> (Stats, u64) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn curl(arguments: &[&str]) -> Child {
    Process::new("curl")
        .args(["-s", "-S", "-i", "--max-time", "10"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What curl printed: heads and contents.
fn printed(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_installed(program: &str) -> bool {
    let version = if program == "caddy" {
        "version"
    } else {
        "--version"
    };
    let found = Process::new(program)
        .arg(version)
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn curl_posts_and_gets_over_one_connection() {
    if !is_installed("curl") {
        return;
    }
    let server = Running::start();
    let url = &format!("http://{}/test", server.address);
    let text = printed(curl(&[
        "-d", "hello", url, "--next", "-i", url, "--next", "-I", url, "--next", "-i", "-X", "DELETE", url,
    ]));
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let ok = format!("HTTP/1.1 200 OK\r\n{kind}Content-Length: 5\r\n\r\n");
    let refused =
        "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        text,
        format!("HTTP/1.1 204 No Content\r\n\r\n{ok}hello{ok}{refused}")
    );
    let (stats, connections) = server.stop();
    assert_eq!((stats.answered, stats.malformed, connections), (4, 0, 1));
}

#[test]
fn curl_waits_for_100_and_sends_chunks_and_speaks_1_0() {
    if !is_installed("curl") {
        return;
    }
    let server = Running::start();
    let url = &format!("http://{}/test", server.address);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    fs::write(&file, vec![b'x'; 2_000_000]).unwrap();
    let data = &format!("@{}", file.display());
    let large = printed(curl(&["--data-binary", data, url]));
    assert_eq!(
        large,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    );
    let chunks = printed(curl(&[
        "-H",
        "Transfer-Encoding: chunked",
        "-H",
        "Expect:",
        "--data-binary",
        data,
        url,
    ]));
    assert_eq!(chunks, "HTTP/1.1 204 No Content\r\n\r\n");
    let back = printed(curl(&["-0", url]));
    assert!(back.contains("Content-Length: 2000000\r\nConnection: close\r\n\r\n"));
    assert_eq!(back.matches('x').count(), 2_000_000 + 1, "and one in the type");
    let (stats, connections) = server.stop();
    assert_eq!((stats.answered, stats.malformed, connections), (3, 0, 3));
}

#[test]
fn curl_waits_at_a_long_poll_and_pages_through_messages() {
    if !is_installed("curl") {
        return;
    }
    let server = Running::start();
    let base = format!("http://{}", server.address);
    let poll = &format!("{base}/long-poll/a?timeout=9");
    let waiting = curl(&[poll]);
    let json = "Content-Type: application/json";
    let mut posts = 0;
    let mut waiting = Some(waiting);
    while let Some(mut child) = waiting.take() {
        // Whether curl waits already is not known: a value is posted until it has one.
        printed(curl(&["-H", json, "-d", "{\"test\":1234}", poll]));
        posts += 1;
        match child.try_wait().unwrap() {
            None => {
                std::thread::sleep(Duration::from_millis(50));
                waiting = Some(child);
            }
            Some(_) => assert!(printed(child).ends_with("\r\n\r\n{\"test\":1234}")),
        }
    }
    let page = printed(curl(&[&format!("{base}/messages?next_key={}", posts - 1)]));
    assert!(
        page.ends_with(&format!(
            "{{\"result\":[{{\"test\":1234}}],\"next_key\":{posts}}}"
        )),
        "{page}"
    );
    assert_eq!(server.stop().0.malformed, 0);
}

/// Caddy with a folder to serve; killed when dropped.
struct Caddy {
    process: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Caddy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Caddy {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("large"), vec![b'x'; 1_000_000]).unwrap();
        for number in 0..100 {
            fs::write(files.join(format!("file-{number}")), b"").unwrap();
        }
        // The port is free a moment before Caddy takes it.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let configuration = format!(
            "{{\n admin off\n auto_https off\n}}\nhttp://{address} {{\n bind 127.0.0.1\n \
             @post {{\n method POST\n path /test\n }}\n respond @post 204\n \
             handle_path /files/* {{\n root * {}\n file_server browse\n }}\n respond 404\n}}\n",
            files.display()
        );
        let path = folder.path().join("Caddyfile");
        fs::write(&path, configuration).unwrap();
        let process = Process::new("caddy")
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(&path)
            .env("HOME", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let caddy = Self {
            process,
            address,
            folder,
        };
        caddy.wait_until_ready();
        caddy
    }

    fn wait_until_ready(&self) {
        let began = std::time::Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert!(
                began.elapsed() < PATIENCE,
                "Caddy is not ready in {}",
                self.folder.path().display()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Asks `requests` of `address`, by a new connection whenever the last one is closed; status and bytes of content.
fn ask(address: SocketAddr, config: ClientConfig, requests: &[(Method, &str, &[u8])]) -> Vec<(Status, u64)> {
    let mut client = Loop::new(Client::new(config));
    for (message, (method, path, content)) in (0..).zip(requests) {
        let template = RequestTemplate::new(*method, &address.to_string(), path, None, *content);
        let template = Arc::new(template.unwrap());
        client.input(Input::Command(Command::Request { message, template }));
    }
    let began = std::time::Instant::now();
    let mut answers = Vec::new();
    while answers.len() < requests.len() {
        assert!(began.elapsed() < PATIENCE, "{:?}", client.events);
        if client.streams.iter().all(Option::is_none) {
            client.open(TcpStream::connect(address).unwrap());
        }
        client.turn();
        for event in client.events.drain(..) {
            match event {
                Event::Response {
                    status, body_bytes, ..
                } => answers.push((status, body_bytes)),
                Event::Opened | Event::Closed => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(client.received, client.consumed);
    answers
}

#[test]
fn our_client_understands_caddy() {
    if !is_installed("caddy") {
        return;
    }
    let caddy = Caddy::start();
    let requests: [(Method, &str, &[u8]); 6] = [
        (Method::Post, "/test", &[7; 128]),
        (Method::Get, "/files/large", b""),
        (Method::Head, "/files/large", b""),
        // A listing above 2 KiB comes in chunks.
        (Method::Get, "/files/", b""),
        (Method::Get, "/none", b""),
        (Method::Post, "/test", &[7; 100_000]),
    ];
    for connection_close in [false, true] {
        let config = ClientConfig {
            connection_close,
            ..ClientConfig::default()
        };
        let answers = ask(caddy.address, config, &requests);
        let codes: Vec<u16> = answers.iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [204, 200, 200, 200, 404, 204]);
        assert_eq!((answers[1].1, answers[2].1), (1_000_000, 0));
        assert!(answers[3].1 > 2_048, "{answers:?}");
    }
}
