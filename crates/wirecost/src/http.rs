//! The little of HTTP/1.1 (RFC 9112) that the program answers itself: one request of a connection, in bounded time and memory.
//!
//! - `body`: the content of a request, as a stream
//! - `door`: who may ask
//! - `page`: a page that brings its style and script, and may load nothing else
//! - `threads`: a bounded number of threads that answer

pub mod body;
pub mod door;
pub mod page;
mod threads;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub use self::threads::answer_all;

/// How long a peer may take for its request, and as long again for what it is answered.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest request head, in bytes.
pub const HEAD: usize = 8_192;
/// How many bytes after a request's head are read at most.
const UNREAD: u64 = 65_536;

/// Whether the value of a field `Host` is an address or localhost, with or without a port (RFC 9110, section 7.2): names of
/// other sites can lead here too. Only an IPv6 address stands in brackets (RFC 3986, section 3.2.2: no other IP literal has a
/// meaning).
pub fn names_this_machine(host: &str) -> bool {
    let (name, port, is_address) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((literal, behind)) = rest.split_once(']') else {
                return false;
            };
            let port = match behind.strip_prefix(':') {
                Some(port) => port,
                None if behind.is_empty() => "",
                None => return false,
            };
            (literal, port, literal.parse::<Ipv6Addr>().is_ok())
        }
        None => {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            (name, port, name.parse::<Ipv4Addr>().is_ok())
        }
    };
    let is_port =
        port.is_empty() || port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok();
    // An address cannot be made to lead elsewhere by a name server, which is the attack (DNS rebinding).
    is_port && (is_address || !host.starts_with('[') && name.eq_ignore_ascii_case("localhost"))
}

/// Text that is not an address to listen on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a port nor ADDRESS:PORT, as in 127.0.0.1:9464")]
pub struct AddressError(String);

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

/// A connection with its one request.
#[derive(Debug)]
pub struct Request {
    stream: TcpStream,
    /// Up to its empty line.
    head: String,
    /// What was read behind it.
    begun: Vec<u8>,
}

impl Request {
    /// Reads the request up to its empty line, or up to the limit.
    ///
    /// # Errors
    /// The peer has gone, or takes too long.
    pub fn read(stream: TcpStream) -> io::Result<Self> {
        let mut patient = Patient::new(&stream);
        let mut head = Vec::new();
        let mut chunk = [0; 1_024];
        while head.len() < HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match patient.read(&mut chunk)? {
                0 => break,
                read => head.extend_from_slice(&chunk[..read]),
            }
        }
        let end = head.windows(4).position(|end| end == b"\r\n\r\n");
        let begun = end.map_or_else(Vec::new, |end| head.split_off(end + 4));
        let head = String::from_utf8_lossy(&head).into_owned();
        Ok(Self { stream, head, begun })
    }

    /// The method; empty where the peer has sent no request.
    pub fn method(&self) -> &str {
        self.head.split_ascii_whitespace().next().unwrap_or_default()
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The query of the target; empty without one.
    pub fn query(&self) -> &str {
        self.target().split_once('?').map_or("", |(_, query)| query)
    }

    fn target(&self) -> &str {
        self.head.split_ascii_whitespace().nth(1).unwrap_or_default()
    }

    /// Whether all of its head was read: a longer one than [`HEAD`] is not.
    pub fn is_whole(&self) -> bool {
        self.head.contains("\r\n\r\n")
    }

    /// The value of a field; empty without one, and if there are several (RFC 9112, section 3.2, for `Host`).
    pub fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().skip(1);
        let fields = fields.filter_map(|line| line.split_once(':'));
        let mut values = fields.filter(|(other, _)| other.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (Some((_, value)), None) => value.trim(),
            _ => "",
        }
    }

    /// Whether the request is for content, which `GET` gets and `HEAD` does not.
    pub fn wants_content(&self) -> bool {
        self.method() != "HEAD"
    }

    /// Answers the request, and ends the connection.
    ///
    /// # Errors
    /// The peer has gone, or takes too long.
    pub fn answer(self, response: &Response<'_>) -> io::Result<()> {
        let mut patient = Patient::new(&self.stream);
        patient.write_all(response.head().as_bytes())?;
        if self.wants_content() {
            patient.write_all(response.content.as_bytes())?;
        }
        // Closing before everything is read would reset the connection and lose the response (RFC 9112, section 9.6).
        self.stream.shutdown(Shutdown::Write)?;
        io::copy(&mut patient.take(UNREAD), &mut io::sink()).map(drop)
    }

    /// Answers with a head alone: the content follows on the stream for as long as it is open.
    ///
    /// # Errors
    /// The peer has gone, or takes too long.
    pub fn begin(self, head: &str) -> io::Result<TcpStream> {
        Patient::new(&self.stream).write_all(head.as_bytes())?;
        Ok(self.stream)
    }
}

/// A whole response.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Code and reason.
    pub status: &'a str,
    /// Type of the content.
    pub content_type: &'a str,
    /// Further fields, each with its line end.
    pub fields: &'a str,
    /// The content.
    pub content: &'a str,
}

impl<'a> Response<'a> {
    /// A line for a person.
    pub const fn plain(status: &'a str, content: &'a str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            fields: "",
            content,
        }
    }

    /// Everything up to the content, which may be large: it is not copied.
    fn head(&self) -> String {
        let Self {
            status,
            content_type,
            fields,
            content,
        } = self;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n{fields}\r\n",
            content.len()
        )
    }
}

/// A stream whose reads and writes together have a deadline: a peer that sends a byte from time to time gains nothing.
struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Patient<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        let until = Instant::now() + PATIENCE;
        Self { stream, until }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(Some(left)),
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A request as its peer sends it.
#[cfg(test)]
pub fn request(bytes: &[u8]) -> io::Result<Request> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let mut peer = TcpStream::connect(listener.local_addr()?)?;
    peer.write_all(bytes)?;
    peer.shutdown(Shutdown::Write)?;
    Request::read(listener.accept()?.0)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_alone_belongs_to_loopback() {
        assert_eq!(address("9464"), Ok(([127, 0, 0, 1], 9464).into()));
        assert_eq!(address(":9464"), Ok(([127, 0, 0, 1], 9464).into()));
        assert_eq!(address("0.0.0.0:1"), Ok(([0, 0, 0, 0], 1).into()));
        assert!(address("localhost").is_err());
    }

    #[test]
    fn only_addresses_and_localhost_name_this_machine() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:8080",
            "localhost",
            "LocalHost:1",
            "10.0.0.7:",
            "[::1]:",
        ] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:80",
            "[evil.example]",
            "[evil.example]:80",
            "[localhost]",
            "[127.0.0.1]",
            "::1",
            "[::1",
            "[::1]80",
            "[::1]:x",
            "[::1%eth0]",
            "[v1.fe80::1]",
            "localhost:80:90",
            "localhost:+80",
            "localhost:65536",
            "127.0.0.1@evil.example",
            "localhost.evil.example",
            "[[::1]]",
        ] {
            assert!(!names_this_machine(host), "{host}");
        }
    }

    #[test]
    fn a_field_that_is_there_twice_or_in_the_content_has_no_value() {
        let twice = request(b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n").unwrap();
        assert_eq!(twice.field("host"), "");
        let content = request(b"POST / HTTP/1.1\r\nAccept: b\r\n\r\nHost: localhost\r\n").unwrap();
        assert_eq!((content.field("host"), content.field("accept")), ("", "b"));
    }

    #[test]
    fn a_request_has_method_path_and_fields() {
        let request =
            request(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nACCEPT:  text/plain \r\n\r\n").unwrap();
        assert_eq!((request.method(), request.path()), ("GET", "/metrics"));
        assert_eq!((request.query(), request.is_whole()), ("x=1", true));
        assert_eq!(
            (request.field("accept"), request.field("cookie")),
            ("text/plain", "")
        );
    }

    #[test]
    fn the_head_of_a_request_is_bounded() {
        let request = request(&[b'a'; 3 * HEAD]).unwrap();
        assert!(request.method().len() < HEAD + 1_024);
        assert_eq!((request.path(), request.is_whole()), ("", false));
    }

    #[test]
    fn a_response_to_head_has_the_length_and_no_content() {
        let told = |method: &str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            peer.write_all(format!("{method} / HTTP/1.1\r\n\r\n").as_bytes())
                .unwrap();
            peer.shutdown(Shutdown::Write).unwrap();
            let request = Request::read(listener.accept().unwrap().0).unwrap();
            request
                .answer(&Response::plain("404 Not Found", "nothing\n"))
                .unwrap();
            let mut told = String::new();
            peer.read_to_string(&mut told).unwrap();
            told
        };
        let head = "Content-Length: 8\r\nConnection: close\r\n\r\n";
        assert!(told("GET").ends_with(&format!("{head}nothing\n")));
        assert!(told("HEAD").ends_with(head));
    }
}
