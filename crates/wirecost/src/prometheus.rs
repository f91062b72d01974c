//! The endpoint for Prometheus, which only answers `GET /metrics` over HTTP/1.1 (RFC 9112) while a load runs.
//!
//! One thread answers one request after the other and closes each connection. A slow peer is dropped after
//! [`PATIENCE`]. The load only waits for it to add a second's counts.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wirecost_load::watch::{Announcement, Tick, Watcher};
use wirecost_results::metrics::{Format, Metrics};

/// The time limit of a peer's read or write.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest request head, in bytes.
const HEAD: usize = 8_192;
/// How many bytes after a request's head are read at most.
const UNREAD: u64 = 65_536;

/// Text that is not an address to listen on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a port nor ADDRESS:PORT, as in 127.0.0.1:9464")]
pub struct AddressError(String);

/// The endpoint and its metrics.
pub struct Endpoint {
    metrics: Arc<Mutex<Metrics>>,
    address: SocketAddr,
}

/// Parses `ADDRESS:PORT`, or a port of the loopback address.
///
/// # Errors
/// The text is neither of the two.
pub fn address(text: &str) -> Result<SocketAddr, AddressError> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    text.parse().map_err(|_| AddressError(text.to_owned()))
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
            for stream in listener.incoming().flatten() {
                // A peer that leaves early does no harm.
                drop(answer(stream, &metrics));
            }
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

fn answer(mut stream: TcpStream, metrics: &Mutex<Metrics>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let response = response(&head, || {
        // Under the lock there is only a copy: formatting takes longer than a second's counts may wait.
        metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    });
    stream.write_all(response.as_bytes())?;
    // Closing before everything is read would reset the connection and lose the response (RFC 9112, section 9.6).
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream.take(UNREAD), &mut io::sink()).map(drop)
}

/// The request up to its empty line, or up to the limit.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1_024];
    while head.len() < HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut chunk)? {
            0 => break,
            read => head.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn response(head: &str, metrics: impl FnOnce() -> Metrics) -> String {
    let mut words = head.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET" | "HEAD", "/metrics") => {
            let format = Format::accepted(accept(head));
            let text = metrics().text(format);
            whole("200 OK", format.content_type(), &text, method == "HEAD")
        }
        ("GET" | "HEAD", _) => plain("404 Not Found", "metrics are at /metrics\n"),
        ("", _) => plain("400 Bad Request", "this is no HTTP request\n"),
        _ => plain(
            "405 Method Not Allowed\r\nAllow: GET, HEAD",
            "only GET and HEAD are answered\n",
        ),
    }
}

/// The value of the field `Accept`; empty without one.
fn accept(head: &str) -> &str {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .map_or("", |(_, value)| value.trim())
}

fn plain(status: &str, text: &str) -> String {
    whole(status, "text/plain; charset=utf-8", text, false)
}

fn whole(status: &str, content_type: &str, text: &str, head_only: bool) -> String {
    let body = if head_only { "" } else { text };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_port_alone_belongs_to_loopback() {
        assert_eq!(address("9464"), Ok(([127, 0, 0, 1], 9464).into()));
        assert_eq!(address(":9464"), Ok(([127, 0, 0, 1], 9464).into()));
        assert_eq!(address("0.0.0.0:1"), Ok(([0, 0, 0, 0], 1).into()));
        assert!(address("localhost").is_err());
    }
}
