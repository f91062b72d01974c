//! The endpoint for Prometheus, which only answers `GET /metrics` over HTTP/1.1 (RFC 9112) while a load runs.
//!
//! Each request has a thread, which closes its connection. A slow peer is dropped, and the oldest one if there are too many
//! ([`crate::http`]). The load only waits for it to add a second's counts.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use wirecost_load::watch::{Announcement, Tick, Watcher};
use wirecost_results::metrics::{Format, Metrics};

use crate::http::{self, Request, Response};

/// The most connections whose request is not answered yet.
const CONNECTIONS: usize = 8;

/// The endpoint and its metrics.
pub struct Endpoint {
    metrics: Arc<Mutex<Metrics>>,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens, and answers until the process ends.
    ///
    /// # Errors
    /// The process cannot listen on the address.
    pub fn start(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let endpoint = Self {
            metrics: Arc::default(),
            address: listener.local_addr()?,
        };
        let metrics = Arc::clone(&endpoint.metrics);
        let body = move || {
            http::answer_all(&listener, CONNECTIONS, move |stream| answer(stream, &metrics));
        };
        thread::Builder::new().name("prometheus".into()).spawn(body)?;
        Ok(endpoint)
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn with(&self, act: impl FnOnce(&mut Metrics)) {
        act(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Watcher for Endpoint {
    fn begin(&mut self, load: &Announcement) {
        self.with(|metrics| Watcher::begin(metrics, load));
    }

    fn note(&mut self, _: &str) {}

    fn second(&mut self, tick: &Tick<'_>) {
        self.with(|metrics| Watcher::second(metrics, tick));
    }

    fn end(&mut self) {
        self.with(Watcher::end);
    }
}

fn answer(stream: TcpStream, metrics: &Mutex<Metrics>) -> io::Result<()> {
    let request = Request::read(stream)?;
    // Prometheus asks for OpenMetrics; a browser gets text.
    let format = Format::accepted(request.field("accept"));
    let text;
    let response = match (request.method(), request.path()) {
        ("GET" | "HEAD", "/metrics") => {
            // Under the lock there is only a copy: formatting takes longer than a second's counts may wait.
            let metrics = metrics.lock().unwrap_or_else(PoisonError::into_inner).clone();
            text = metrics.text(format);
            Response {
                content_type: format.content_type(),
                ..Response::plain("200 OK", &text)
            }
        }
        ("GET" | "HEAD", _) => Response::plain("404 Not Found", "metrics are at /metrics\n"),
        ("", _) => Response::plain("400 Bad Request", "this is no HTTP request\n"),
        _ => Response {
            fields: "Allow: GET, HEAD\r\n",
            ..Response::plain("405 Method Not Allowed", "only GET and HEAD are answered\n")
        },
    };
    request.answer(&response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{HEAD, address};
    use std::io::{Read as _, Write as _};

    fn ask(endpoint: &Endpoint, request: &str) -> String {
        let mut stream = TcpStream::connect(endpoint.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn endpoint() -> Endpoint {
        let mut endpoint = Endpoint::start(address("0").unwrap()).unwrap();
        endpoint.begin(&Announcement {
            stack: "mqtt-qos1".into(),
            clients: 7,
            ..Announcement::default()
        });
        endpoint
    }

    #[test]
    fn metrics_are_answered_in_the_requested_format() {
        let endpoint = endpoint();
        let plain = ask(&endpoint, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(
            plain.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
            "{plain}"
        );
        assert!(
            plain.contains("wirecost_clients{load=\"0\",stack=\"mqtt-qos1\",target=\"\"} 7\n"),
            "{plain}"
        );
        let open = "GET /metrics?x=1 HTTP/1.1\r\naccept: application/openmetrics-text; version=1.0.0\r\n\r\n";
        assert!(ask(&endpoint, open).ends_with("# EOF\n"));
    }

    #[test]
    fn all_other_requests_are_refused() {
        let endpoint = endpoint();
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\r\n\r\n", "400"),
        ] {
            let response = ask(&endpoint, request);
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request}: {response}"
            );
        }
        // A connection with too large a request is closed, and the next one is answered.
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD));
        assert!(ask(&endpoint, &long).starts_with("HTTP/1.1 404"));
    }
}
