//! UDP sockets, and batches of datagrams to send and receive.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use mio::net::UdpSocket;
use socket2::{Domain, Protocol, Socket, Type};

use super::sources::Origin;
use super::{READ_BYTES, calls};
use crate::sys;
use crate::sys::datagrams::{self, Arrival};

/// The socket buffer on the emulated link and of servers, in bytes: it holds a burst of the largest datagrams in
/// fragments.
const BUFFER_BYTES: usize = 4 << 20;
/// The most datagrams of one system call.
pub(super) const TOGETHER: usize = datagrams::TOGETHER;

/// A socket connected to `remote`, for one device, or `shared` by the devices of a loop.
pub(super) fn connect(origin: Origin, remote: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = open(remote)?;
    if shared || matches!(origin, Origin::Link(_)) {
        enlarge_buffers(&socket)?;
    }
    origin.bind(&socket)?;
    socket.connect(&remote.into())?;
    Ok(UdpSocket::from_std(socket.into()))
}

/// A server's socket. With `shared`, others may bind to the same port.
pub(super) fn bind(local: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = open(local)?;
    enlarge_buffers(&socket)?;
    socket.set_reuse_port(shared)?;
    Origin::Link(local).bind(&socket)?;
    Ok(UdpSocket::from_std(socket.into()))
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let kind = Type::DGRAM.nonblocking();
    Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))
}

fn enlarge_buffers(socket: &Socket) -> io::Result<()> {
    // The kernel caps these sizes silently. Drops show as lost messages and are counted there.
    socket.set_recv_buffer_size(BUFFER_BYTES)?;
    socket.set_send_buffer_size(BUFFER_BYTES)
}

/// Datagrams that wait to be sent on one socket.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// The end of each datagram.
    ends: Vec<usize>,
    /// The destination of each datagram; empty on a connected socket.
    to: Vec<SocketAddr>,
}

/// The most datagrams that wait for the end of a turn.
pub(super) const MOST_WAITING: usize = 64;

/// The result of sending a batch.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Payload bytes that the kernel accepted.
    pub(super) bytes: usize,
    /// Datagrams that it did not accept.
    pub(super) dropped: u64,
    /// The error, if it was not a lack of room.
    pub(super) refusal: Option<io::Error>,
}

impl Batch {
    pub(super) fn push(&mut self, datagram: &[u8]) {
        self.bytes.extend_from_slice(datagram);
        self.ends.push(self.bytes.len());
    }

    /// Adds a datagram for `peer`, on a socket that is not connected.
    pub(super) fn push_to(&mut self, datagram: &[u8], peer: SocketAddr) {
        self.push(datagram);
        self.to.push(peer);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.to.clear();
    }

    /// Sends everything. Datagrams that the kernel has no room for are lost before the link, and the protocol may
    /// repair the loss.
    pub(super) fn send(&mut self, socket: &UdpSocket) -> Sent {
        self.send_by(|bytes, start, ends, to| {
            calls::note_write();
            datagrams::send(socket.as_fd(), bytes, start, ends, to)
        })
    }

    /// Sends with `send`, which takes the bytes, the start of the first datagram, their ends and their destinations,
    /// and returns the number of sent datagrams.
    fn send_by(
        &mut self,
        mut send: impl FnMut(&[u8], usize, &[usize], &[SocketAddr]) -> io::Result<usize>,
    ) -> Sent {
        let mut sent = Sent::default();
        let (mut start, mut next) = (0, 0);
        while next < self.ends.len() {
            let together = next..self.ends.len().min(next + TOGETHER);
            let to = self.to.get(together.clone()).unwrap_or_default();
            match send(&self.bytes, start, &self.ends[together], to) {
                Ok(count) => {
                    next += count;
                    sent.bytes += self.ends[next - 1] - start;
                }
                // No datagram of this call has left: the same ones are sent again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    next += 1;
                    // sendmmsg(2) fails at the first datagram that it cannot send: only that one is lost, and those behind it are sent.
                    sent.dropped += 1;
                    sent.refusal = sent.refusal.or((!is_out_of_room(&error)).then_some(error));
                }
            }
            start = self.ends[next - 1];
        }
        self.clear();
        sent
    }
}

/// Whether the kernel had no room for a datagram: the socket still works.
fn is_out_of_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// The receive buffers of one system call.
#[derive(Debug)]
pub(super) struct Received {
    bytes: Vec<u8>,
    arrivals: [Arrival; TOGETHER],
}

impl Default for Received {
    fn default() -> Self {
        Self {
            bytes: vec![0; TOGETHER * READ_BYTES],
            arrivals: [Arrival::default(); TOGETHER],
        }
    }
}

impl Received {
    /// Receives the waiting datagrams of a connected socket, up to a limit. Returns how many, and whether there may be
    /// more.
    pub(super) fn fill(&mut self, socket: &UdpSocket) -> io::Result<(usize, bool)> {
        self.receive(socket, TOGETHER, false)
    }

    /// Receives up to `limit` datagrams on an unconnected socket.
    pub(super) fn fill_from_peers(&mut self, socket: &UdpSocket, limit: usize) -> io::Result<(usize, bool)> {
        self.receive(socket, limit.min(TOGETHER), true)
    }

    /// Receives one datagram on a connected socket. Returns how many, and whether there may be more.
    pub(super) fn fill_one(&mut self, socket: &UdpSocket) -> io::Result<(usize, bool)> {
        let place = &mut self.bytes[..READ_BYTES];
        let received = uninterrupted(|| sys::receive(socket.as_fd(), place))?;
        if let Some(len) = received {
            self.arrivals[0] = Arrival { len, from: None };
        }
        Ok((usize::from(received.is_some()), received.is_some()))
    }

    fn receive(&mut self, socket: &UdpSocket, limit: usize, peers: bool) -> io::Result<(usize, bool)> {
        let places = &mut self.bytes[..limit * READ_BYTES];
        let arrivals = &mut self.arrivals;
        let received =
            uninterrupted(|| datagrams::receive(socket.as_fd(), places, READ_BYTES, peers, arrivals))?;
        let count = received.unwrap_or(0);
        Ok((count, count == limit))
    }

    /// One of the last received datagrams.
    pub(super) fn datagram(&self, number: usize) -> &[u8] {
        let start = number * READ_BYTES;
        &self.bytes[start..start + self.arrivals[number].len]
    }

    /// Its sender, if requested.
    pub(super) fn peer(&self, number: usize) -> Option<SocketAddr> {
        self.arrivals[number].from
    }
}

/// The result of a receive call, or `WouldBlock`. Repeats the call after a signal.
fn uninterrupted(mut receive: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        calls::note_read();
        match receive() {
            Ok(received) => return Ok(Some(received)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(lengths: &[usize]) -> Batch {
        let mut batch = Batch::default();
        for length in lengths {
            batch.push(&vec![*length as u8; *length]);
        }
        batch
    }

    #[test]
    fn datagrams_without_room_are_dropped_and_the_others_sent() {
        let mut calls = 0;
        let mut lengths = Vec::new();
        let mut batch = batch(&[3, 0, 5, 7]);
        let sent = batch.send_by(|_, start, ends, _| {
            calls += 1;
            match calls {
                1 => {
                    lengths.push(ends[0] - start);
                    Ok(1)
                }
                2 => Err(io::Error::from_raw_os_error(libc::ENOBUFS)),
                3 => Err(io::Error::from_raw_os_error(libc::EINTR)),
                _ => {
                    let starts = std::iter::once(&start).chain(ends);
                    lengths.extend(starts.zip(ends).map(|(start, end)| end - start));
                    Ok(ends.len())
                }
            }
        });
        assert_eq!(lengths, [3, 5, 7]);
        assert_eq!((sent.bytes, sent.dropped), (15, 1));
        assert!(sent.refusal.is_none() && batch.is_empty());
    }

    #[test]
    fn a_refusal_is_reported_and_costs_one_datagram() {
        let mut refused = false;
        let sent = batch(&[1, 1, 1]).send_by(|_, _, ends, _| {
            if std::mem::replace(&mut refused, true) {
                return Ok(ends.len());
            }
            Err(io::Error::from_raw_os_error(libc::ECONNREFUSED))
        });
        let kind = sent.refusal.map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::ConnectionRefused));
        assert_eq!((sent.bytes, sent.dropped), (2, 1));
    }

    #[test]
    fn datagrams_of_all_sizes_arrive_in_order_over_several_calls() {
        let server = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        let remote = server.local_addr().expect("bound");
        let socket = connect(Origin::Kernel, remote, false).expect("loopback");
        let lengths: Vec<usize> = (0..2 * TOGETHER + 1).map(|number| number * 40).collect();
        let sent = batch(&lengths).send(&socket);
        assert_eq!((sent.bytes, sent.dropped), (lengths.iter().sum(), 0));
        let receiver = UdpSocket::from_std(server);
        let mut received = Received::default();
        let mut arrived = Vec::new();
        // Non-blocking receives on a blocking socket: over loopback, all datagrams are there.
        while let Ok((count @ 1.., _)) = received.fill(&receiver) {
            arrived.extend((0..count).map(|number| received.datagram(number).to_vec()));
        }
        let expected: Vec<Vec<u8>> = lengths
            .iter()
            .map(|length| vec![*length as u8; *length])
            .collect();
        assert_eq!(arrived, expected);
    }

    #[test]
    fn datagrams_arrive_with_their_peers_and_answers_reach_them() {
        let server = bind("[::]:0".parse().expect("an address"), false).expect("a port is free");
        let port = server.local_addr().expect("bound").port();
        // More than one call holds, of both families.
        let clients: Vec<std::net::UdpSocket> = (0..TOGETHER + 3)
            .map(|number| {
                let here = if number % 2 == 0 { "127.0.0.1" } else { "::1" };
                let client = std::net::UdpSocket::bind((here, 0)).expect("a port is free");
                client.connect((here, port)).expect("loopback");
                client.send(&[number as u8]).expect("loopback");
                client
            })
            .collect();
        let mut received = Received::default();
        let mut answers = Batch::default();
        let counts = [16, 3, 0].map(|expected| {
            let (count, is_full) = received.fill_from_peers(&server, TOGETHER).expect("received");
            assert_eq!((count, is_full), (expected, expected == TOGETHER));
            for number in 0..count {
                let peer = received.peer(number).expect("it was asked for");
                answers.push_to(received.datagram(number), peer);
            }
            count
        });
        assert_eq!(counts.iter().sum::<usize>(), clients.len());
        let before = calls::so_far();
        assert_eq!(answers.send(&server).dropped, 0);
        assert_eq!(calls::so_far().since(before).writes, 2);
        for (number, client) in clients.iter().enumerate() {
            let mut answer = [0; 2];
            assert_eq!(client.recv(&mut answer).expect("an answer"), 1);
            assert_eq!(answer[0], number as u8);
        }
    }
}
