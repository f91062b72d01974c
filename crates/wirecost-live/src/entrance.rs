//! Connections whose peers have not shown yet who they are or what they want.
//!
//! Such connections cost nothing to open, so that anybody can open any number. An [`Entrance`] has places for some. A further
//! connection takes the place of the oldest one of the address that has most places: who stalls goes first, and nobody is shut
//! out by the connections of another address.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for connections, which each may have for a short time.
#[derive(Debug)]
pub struct Entrance {
    places: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// The number of connections so far.
    entered: u64,
    connections: BTreeMap<u64, (IpAddr, TcpStream)>,
}

/// The place of one connection. It is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    entrance: Arc<Entrance>,
    number: u64,
}

impl Entrance {
    /// An entrance with this many places.
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places: places.max(1),
            taken: Mutex::default(),
        })
    }

    /// Gives a connection a place. If there is none, another connection is shut down: who reads it sees its end.
    ///
    /// # Errors
    /// The connection has ended, or no descriptor is left.
    pub fn enter(self: &Arc<Self>, stream: &TcpStream) -> io::Result<Place> {
        // A second descriptor of the same connection, by which another thread can shut it down while its own reads.
        let (address, stream) = (stream.peer_addr()?.ip(), stream.try_clone()?);
        let mut taken = self.taken();
        while taken.connections.len() >= self.places {
            let Some((_, stalled)) = taken
                .longest()
                .and_then(|number| taken.connections.remove(&number))
            else {
                break;
            };
            // It may have ended meanwhile.
            let _ = stalled.shutdown(Shutdown::Both);
        }
        let number = taken.entered;
        taken.entered += 1;
        taken.connections.insert(number, (address, stream));
        Ok(Place {
            entrance: Arc::clone(self),
            number,
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// The oldest connection of the address that has most of them.
    fn longest(&self) -> Option<u64> {
        let mut of_address: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
        for (number, (address, _)) in &self.connections {
            of_address.entry(*address).or_insert((0, *number)).0 += 1;
        }
        let most = of_address
            .into_values()
            .max_by_key(|(count, oldest)| (*count, std::cmp::Reverse(*oldest)));
        most.map(|(_, oldest)| oldest)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.entrance.taken().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    use socket2::{Domain, Socket, Type};

    /// A connection from this address: the end of the client, and that of the server.
    fn connected(listener: &TcpListener, from: [u8; 4]) -> (TcpStream, TcpStream) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
        socket.connect(&listener.local_addr().unwrap().into()).unwrap();
        let client: TcpStream = socket.into();
        client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn has_ended(client: &mut TcpStream) -> bool {
        matches!(client.read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_oldest_connection_of_the_address_with_most_goes_first() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let entrance = Entrance::new(3);
        let from = [[127, 0, 0, 2], [127, 0, 0, 1], [127, 0, 0, 1], [127, 0, 0, 1]];
        let mut ends: Vec<_> = from.iter().map(|from| connected(&listener, *from)).collect();
        let places: Vec<Place> = ends
            .iter()
            .map(|(_, stream)| entrance.enter(stream).unwrap())
            .collect();
        let ended: Vec<bool> = ends.iter_mut().map(|(client, _)| has_ended(client)).collect();
        assert_eq!(ended, [false, true, false, false]);
        drop(places);
        assert!(entrance.taken().connections.is_empty());
    }

    #[test]
    fn a_place_that_is_left_is_free() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = Entrance::new(1);
        let (mut first, stream) = connected(&listener, [127, 0, 0, 1]);
        drop(entrance.enter(&stream).unwrap());
        let (mut second, further) = connected(&listener, [127, 0, 0, 1]);
        let _place = entrance.enter(&further).unwrap();
        assert!(!has_ended(&mut first) && !has_ended(&mut second));
    }
}
