//! Our client with Caddy.

use std::convert::Infallible;
use std::fmt::Debug;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{Command, Event};
use wirecost_http::http1::{Client, ClientConfig};
use wirecost_http::message::{Method, RequestTemplate, Status};
use wirecost_proto::{Endpoint, Input};

use crate::driver::Loop;
use crate::port::own_port;
use crate::{PATIENCE, need};

#[test]
#[ignore = "needs caddy"]
fn our_client_understands_caddy() {
    need("caddy");
    let caddy = Caddy::start(None);
    let requests: [Asked<'_>; 6] = [
        (Method::Post, "/test", &[7; 128]),
        (Method::Get, "/files/large", b""),
        (Method::Head, "/files/large", b""),
        // A listing above 2 KiB is chunked.
        (Method::Get, "/files/", b""),
        (Method::Get, "/none", b""),
        (Method::Post, "/test", &[7; 100_000]),
    ];
    for connection_close in [false, true] {
        let config = ClientConfig {
            connection_close,
            ..ClientConfig::default()
        };
        let answers = ask(caddy.address, Client::new(config), &requests, Some);
        let codes: Vec<u16> = answers.iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [204, 200, 200, 200, 404, 204]);
        assert_eq!((answers[1].1, answers[2].1), (1_000_000, 0));
        assert!(answers[3].1 > 2_048, "{answers:?}");
    }
}

/// Method, path, content.
pub(crate) type Asked<'a> = (Method, &'a str, &'a [u8]);

/// Sends `requests` to `address`, on a new connection whenever the last one is closed. Returns status and bytes of
/// content.
pub(crate) fn ask<E: Endpoint<Command = Command, Event: Debug, Error = Infallible>>(
    address: SocketAddr,
    client: E,
    requests: &[Asked<'_>],
    understand: impl Fn(E::Event) -> Option<Event>,
) -> Vec<(Status, u64)> {
    let mut client = Loop::new(client);
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
        for event in client.events.drain(..).filter_map(&understand) {
            match event {
                Event::Response {
                    status, body_bytes, ..
                } => answers.push((status, body_bytes)),
                Event::Opened | Event::Sent { .. } | Event::Closed => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(client.received, client.consumed);
    answers
}

/// Caddy with a folder to serve. It is killed when dropped.
pub(crate) struct Caddy {
    process: Child,
    pub(crate) address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Caddy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Caddy {
    /// Starts Caddy. With certificate and key (PEM) it uses TLS.
    pub(crate) fn start(tls: Option<[String; 2]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("large"), vec![b'x'; 1_000_000]).unwrap();
        for number in 0..100 {
            fs::write(files.join(format!("file-{number}")), b"").unwrap();
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, own_port()));
        let (scheme, secrets) = match tls {
            None => ("http", String::new()),
            Some(texts) => ("https", secrets(folder.path(), texts)),
        };
        let port = address.port();
        let configuration = format!(
            "{{\n admin off\n auto_https off\n}}\n{scheme}://:{port} {{\n bind 127.0.0.1\n{secrets} \
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

/// The configuration line with certificate and key.
fn secrets(folder: &Path, texts: [String; 2]) -> String {
    let paths = ["c.pem", "k.pem"].map(|name| folder.join(name));
    for (path, text) in paths.iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    format!(" tls {} {}\n", paths[0].display(), paths[1].display())
}
