//! Which address of a host a command uses: the first one that accepts a connection, in the resolver's order.
//!
//! Every command that takes the name of a host finds its address here.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;
use std::{fmt, io, thread};

use wirecost_live::patience::Patience;
use wirecost_proto::ResetReason;
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::any_port;

use crate::resolve::{ResolveError, resolve};

/// How long ICMP may take to report a closed UDP port.
const ICMP_PATIENCE: Duration = Duration::from_millis(200);

/// A server, as it is named.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// How it is reached.
    pub transport: Transport,
}

/// Which addresses are tried before one is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Those of a host that has several: a server with one address sees no connection but those that are asked for.
    OfSeveral,
    /// Any address.
    OfAny,
}

/// How long a command waits for the resolver, and for each address.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    /// For the resolver.
    pub resolver: Patience<'a>,
    /// For each address to accept a connection.
    pub connect: Patience<'a>,
}

/// The address that a command uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The address.
    pub address: SocketAddr,
    /// The addresses before it, which did not accept a connection.
    pub passed_over: Vec<SocketAddr>,
}

impl Reached {
    /// The sentence about the addresses that did not accept a connection, if there are any.
    pub fn remark(&self) -> Option<String> {
        let all: Vec<String> = self.passed_over.iter().map(SocketAddr::to_string).collect();
        let verb = if all.len() == 1 { "does" } else { "do" };
        let remark = || {
            format!(
                "{} {verb} not accept the connection: {} is used",
                all.join(" and "),
                self.address
            )
        };
        (!all.is_empty()).then(remark)
    }
}

/// Why no address of a host can be used.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The host has no address.
    #[error(transparent)]
    Name(#[from] ResolveError),
    /// No address accepted a connection.
    #[error(transparent)]
    Unaccepted(#[from] Unaccepted),
}

/// The addresses that did not accept a connection, each with the reason.
#[derive(Debug)]
pub struct Unaccepted(Vec<(SocketAddr, io::Error)>);

impl fmt::Display for Unaccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, error)] = self.0.as_slice() {
            return f.write_str(&reason(error));
        }
        for (place, (address, error)) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{address}: {}", reason(error))?;
        }
        Ok(())
    }
}

impl std::error::Error for Unaccepted {}

/// Why an address did not accept a connection.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ResetReason::Refused.to_string(),
        io::ErrorKind::TimedOut => "no answer".to_owned(),
        _ => error.to_string(),
    }
}

/// Uses one address after another until the result of one is not `is_unaccepted`, or until none is left. Returns the last result,
/// and the addresses before it.
///
/// # Errors
/// The first error of `attempt`.
pub(crate) fn in_turn<T, E>(
    addresses: &[SocketAddr],
    mut attempt: impl FnMut(SocketAddr) -> Result<T, E>,
    is_unaccepted: impl Fn(&T) -> bool,
) -> Result<Option<(T, Vec<SocketAddr>)>, E> {
    let mut passed_over = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        let ended = attempt(*address)?;
        if !is_unaccepted(&ended) || index + 1 == addresses.len() {
            return Ok(Some((ended, passed_over)));
        }
        passed_over.push(*address);
    }
    Ok(None)
}

/// The address of a server.
///
/// # Errors
/// Its name has no address, or none of those that were tried accepts a connection.
pub fn reach(server: Server<'_>, trial: Trial, waits: Waits<'_>) -> Result<Reached, ReachError> {
    let addresses = resolve(server.host, server.port, None, waits.resolver)?;
    if let ([address], Trial::OfSeveral) = (addresses.as_slice(), trial) {
        return Ok(Reached {
            address: *address,
            passed_over: Vec::new(),
        });
    }
    let reached = match server.transport {
        Transport::Stream => connect(&addresses, waits.connect).map(|(_, reached)| reached),
        Transport::Datagram => open_port(&addresses),
    };
    Ok(reached?)
}

/// A connection to the first of the addresses that accepts one.
///
/// # Errors
/// None does.
pub fn connect(addresses: &[SocketAddr], patience: Patience<'_>) -> Result<(TcpStream, Reached), Unaccepted> {
    let mut failed = Vec::new();
    for address in addresses {
        match connected(*address, patience) {
            Ok(stream) => {
                let reached = Reached {
                    address: *address,
                    passed_over: failed.into_iter().map(|(address, _)| address).collect(),
                };
                return Ok((stream, reached));
            }
            Err(error) => failed.push((*address, error)),
        }
    }
    Err(Unaccepted(failed))
}

/// A connection to one address. The call of the system cannot be cancelled, so that a thread that waits too long is left running.
fn connected(address: SocketAddr, patience: Patience<'_>) -> io::Result<TcpStream> {
    let (sender, receiver) = mpsc::channel();
    let most = patience.most();
    // The receiver is gone after a time-out.
    thread::spawn(move || drop(sender.send(TcpStream::connect_timeout(&address, most))));
    let answer = patience.wait(|slice| receiver.recv_timeout(slice).ok());
    answer.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
}

/// The first of the addresses whose UDP port is not reported closed. The last one is not tried: nothing could replace it.
fn open_port(addresses: &[SocketAddr]) -> Result<Reached, Unaccepted> {
    let last = addresses.last().copied();
    let attempt = |address: SocketAddr| match Some(address) == last {
        true => Ok((address, Ok(()))),
        false => Ok((address, look_for_port(address))),
    };
    let is_closed = |(_, looked): &(SocketAddr, io::Result<()>)| looked.is_err();
    let found: Result<_, std::convert::Infallible> = in_turn(addresses, attempt, is_closed);
    match found {
        Ok(Some(((address, _), passed_over))) => Ok(Reached { address, passed_over }),
        Ok(None) => Err(Unaccepted(Vec::new())),
        Err(never) => match never {},
    }
}

/// Sends an empty datagram, which no protocol takes for a message, and waits for ICMP to refuse it.
fn look_for_port(address: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind(any_port(address))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(ICMP_PATIENCE))?;
    socket.send(&[])?;
    match socket.recv(&mut [0; 1]) {
        Err(error) if !is_silence(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// The addresses of `HOST:PORT`.
///
/// # Errors
/// The host has none, or the text has no port.
pub fn addresses_of(text: &str, patience: Patience<'_>) -> Result<Vec<SocketAddr>, ResolveError> {
    if let Ok(address) = text.parse() {
        return Ok(vec![address]);
    }
    let parts = text
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = parts.ok_or_else(|| ResolveError::Failed {
        host: text.to_owned(),
        reason: "it is not HOST:PORT".to_owned(),
    })?;
    resolve(host, port, None, patience)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, TcpListener};

    use super::*;

    const PATIENCE: Patience<'_> = Patience::at_most(Duration::from_secs(5));

    fn open_and_closed() -> (TcpListener, SocketAddr, SocketAddr) {
        let open = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let at = open.local_addr().expect("its address");
        // Nothing else uses this address of loopback.
        let closed = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 81, 0, 1)), at.port());
        (open, at, closed)
    }

    #[test]
    fn the_first_address_that_accepts_is_used() {
        let (_listener, open, closed) = open_and_closed();
        let (_, reached) = connect(&[closed, open], PATIENCE).expect("one accepts");
        assert_eq!(
            (reached.address, reached.passed_over.as_slice()),
            (open, &[closed][..])
        );
        let remark = reached.remark().expect("one was passed over");
        assert_eq!(
            remark,
            format!("{closed} does not accept the connection: {open} is used")
        );
        let (_, reached) = connect(&[open, closed], PATIENCE).expect("one accepts");
        assert_eq!((reached.address, reached.remark()), (open, None));
    }

    #[test]
    fn every_address_that_refuses_is_named() {
        let (listener, open, closed) = open_and_closed();
        drop(listener);
        let error = connect(&[closed, open], PATIENCE).expect_err("none accepts");
        assert_eq!(
            error.to_string(),
            format!("{closed}: connection refused; {open}: connection refused")
        );
        let error = connect(&[closed], PATIENCE).expect_err("it refuses");
        assert_eq!(error.to_string(), "connection refused");
    }

    #[test]
    fn a_udp_port_that_icmp_reports_closed_is_passed_over() {
        let open = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let at = open.local_addr().expect("its address");
        let closed = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 81, 0, 1)), at.port());
        let other = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 81, 0, 2)), at.port());
        let address = |all: &[SocketAddr]| open_port(all).expect("one is used").address;
        assert_eq!(address(&[closed, at, other]), at);
        assert_eq!(address(&[at, closed]), at);
        assert_eq!(address(&[closed, other]), other, "the last one is not tried");
    }

    #[test]
    fn a_host_with_one_address_sees_no_trial() {
        let (listener, open, _) = open_and_closed();
        listener.set_nonblocking(true).expect("a listener");
        let server = Server {
            host: "127.0.0.1",
            port: open.port(),
            transport: Transport::Stream,
        };
        let waits = Waits {
            resolver: PATIENCE,
            connect: PATIENCE,
        };
        reach(server, Trial::OfSeveral, waits).expect("its address");
        assert!(listener.accept().is_err(), "nothing came");
        reach(server, Trial::OfAny, waits).expect("it accepts");
        assert!(listener.accept().is_ok());
    }

    #[test]
    fn a_host_with_its_port_has_addresses() {
        let of = |text| addresses_of(text, PATIENCE);
        for text in ["127.0.0.1:7700", "[::1]:7700"] {
            assert_eq!(of(text).expect(text), [text.parse().expect(text)]);
        }
        let found = of("localhost:7700").expect("localhost");
        assert!(
            found
                .iter()
                .all(|address| address.ip().is_loopback() && address.port() == 7700)
        );
        assert!(of("localhost").is_err());
    }
}
