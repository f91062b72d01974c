//! A false broker: it reads the CONNECT of each client, and answers with the bytes of its script.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Ends after the connections that it was made for, or with the test.
pub(crate) struct Broker {
    pub(crate) address: SocketAddr,
    connects: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Broker {
    /// A broker that answers each CONNECT with `answer`.
    pub(crate) fn answering(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let connects = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let seen = Arc::clone(&connects);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, answer, &seen));
            }
        });
        Self { address, connects }
    }

    /// The client identifiers that came, without repetition, in order.
    pub(crate) fn client_ids(&self) -> Vec<String> {
        let connects = self.connects.lock().expect("connects");
        let mut ids: Vec<String> = connects.iter().map(|packet| client_id(packet)).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }
}

fn serve(mut stream: TcpStream, answer: &[u8], seen: &Mutex<Vec<Vec<u8>>>) {
    let patience = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut packet = vec![0; 1_024];
    // A client that has gone, or a look at the port, sends nothing.
    let (Ok(()), Ok(length)) = (patience, stream.read(&mut packet)) else {
        return;
    };
    if packet[0] != 0x10 {
        return;
    }
    packet.truncate(length);
    seen.lock().expect("connects").push(packet);
    // The client may have gone.
    drop(stream.write_all(answer));
    drop(stream.read(&mut [0; 1_024]));
}

/// The client identifier of a CONNECT with a header of two bytes (MQTT 3.1.1, section 3.1; MQTT 5 has properties before it).
fn client_id(packet: &[u8]) -> String {
    let (header, name_and_fixed) = (2, 2 + 4 + 4);
    let mut at = header + name_and_fixed;
    let level = packet[header + 6];
    if level == 5 {
        at += 1 + usize::from(packet[at]);
    }
    let length = usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    String::from_utf8(packet[at + 2..at + 2 + length].to_vec()).expect("UTF-8")
}
