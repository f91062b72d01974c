//! Devices that share a socket are distinguished, whatever else arrives on it.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{ended, wirecost};
use crate::rig::{Target, load};

const COUNT: u64 = 3_000;

#[test]
fn messages_from_a_shared_socket_have_arrived() {
    for (flags, offer) in [
        ("--qos 1", "--rate 3000/s"),
        ("--qos 1", "--closed-loop"),
        ("--qos 0", "--rate 3000/s"),
    ] {
        let mut target = Target::start("coap-con");
        let url = target.url("coap");
        let loaded = load(&format!(
            "{url} {flags} --clients 300 --count {COUNT} {offer} --shared-socket"
        ));
        let outcomes = loaded.outcomes();
        assert_eq!(outcomes.offered, COUNT, "{flags} {offer}\n{}", loaded.stderr);
        assert_eq!(
            (loaded.sent(), target.messages()),
            (COUNT, COUNT),
            "{flags} {offer}: {outcomes:?}"
        );
        assert!(loaded.only().shared_socket);
    }
}

#[test]
fn observers_on_a_shared_socket_receive_changes() {
    let loaded = load(
        "coap-con --resource obs --subscribers 3 --clients 4 --count 40 --rate 50/s --shared-socket --threads 1",
    );
    let outcomes = loaded.outcomes();
    assert_eq!(outcomes.offered, outcomes.acknowledged, "{}", loaded.stderr);
    let deliveries = loaded.only().phases.iter().filter_map(|phase| phase.deliveries);
    let arrived: u64 = deliveries.map(|deliveries| deliveries.arrived).sum();
    // Each of them of the latest state at least, not of each one (RFC 7641, section 1.3).
    assert!((3..=3 * 41).contains(&arrived), "{arrived}");
}

#[test]
fn protected_requests_share_sockets_too() {
    for stack in ["coap-con+oscore", "coap-non+oscore", "coap-con+cose"] {
        let loaded = load(&format!(
            "{stack} --clients 50 --count {COUNT} --rate 3000/s --shared-socket"
        ));
        let phases = &loaded.only().phases;
        let arrived: u64 = phases
            .iter()
            .filter_map(|phase| phase.deliveries.as_ref())
            .map(|deliveries| deliveries.arrived)
            .sum();
        assert_eq!(
            (loaded.sent(), arrived),
            (COUNT, COUNT),
            "{stack}: {:?}",
            loaded.outcomes()
        );
    }
}

/// A CoAP server that sends other messages before each answer: unrequested ones, and those of other requests.
struct NoisyServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<SocketAddr>>,
}

impl NoisyServer {
    fn start() -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = socket.local_addr().expect("bound");
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("an open socket");
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let (mut buffer, mut peers) = ([0; 2_000], BTreeSet::new());
            while !ends.load(Ordering::Relaxed) {
                let Ok((len, peer)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                peers.insert(peer);
                for datagram in noisy_answers(&buffer[..len]) {
                    socket.send_to(&datagram, peer).expect("loopback");
                }
            }
            peers
        });
        Self {
            address,
            is_over,
            thread,
        }
    }

    /// The peers so far.
    fn stop(self) -> BTreeSet<SocketAddr> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

/// What is said to a confirmable request, the answer last; to anything else nothing.
fn noisy_answers(request: &[u8]) -> Vec<Vec<u8>> {
    const CHANGED: u8 = 0x44;
    let [first, _, id @ ..] = request else {
        return vec![];
    };
    let (kind, token_bytes) = (first >> 4 & 3, usize::from(first & 0x0f));
    let (Some(id), Some(token)) = (id.get(..2), id.get(2..2 + token_bytes)) else {
        return vec![];
    };
    if kind != 0 {
        return vec![];
    }
    let message = |kind: u8, token: &[u8]| {
        let first = 0x40 | kind << 4 | token.len() as u8;
        [&[first, CHANGED], id, token].concat()
    };
    // The device's number is in front.
    let mut forged = token.to_vec();
    forged[token_bytes - 1] ^= 0xff;
    let mut others = token.to_vec();
    others[0] ^= 0x01;
    vec![
        vec![0xff; 30],
        vec![0x40],
        // NON responses: of this device's with a token it does not use, of another device's, of none.
        message(1, &forged),
        message(1, &others),
        message(1, &[0xff; 8]),
        message(1, &[]),
        // ACKs to this request with tokens of others.
        message(2, &forged),
        message(2, &others),
        message(2, token),
    ]
}

#[test]
fn wrong_and_foreign_tokens_match_no_device() {
    let server = NoisyServer::start();
    let url = format!("coap://{}", server.address);
    let loaded = load(&format!(
        "{url} --qos 1 --clients 100 --count 1000 --rate 500/s --threads 1 --shared-socket"
    ));
    let peers = server.stop();
    let outcomes = loaded.outcomes();
    assert_eq!(
        (outcomes.offered, outcomes.acknowledged, loaded.sent()),
        (1_000, 1_000, 1_000),
        "{outcomes:?}\n{}",
        loaded.stderr
    );
    assert_eq!(peers.len(), 1, "all devices have one socket: {peers:?}");
}

#[test]
fn stacks_that_cannot_share_sockets_are_refused() {
    let home = tempfile::TempDir::new().expect("a folder");
    let refused = |stack: &str, flags: &[&str]| {
        let mut command = wirecost(home.path());
        command.args(["load", stack, "--shared-socket", "--count", "10"]);
        command.args(flags).stderr(std::process::Stdio::piped());
        let said = ended(command.spawn().expect("the program starts"));
        assert_eq!(said.code, Some(2), "{stack}: {}", said.stderr);
        said.stderr
    };
    for stack in [
        "mqtt-qos1",
        "udp",
        "http3",
        "coap-con+dtls1.3",
        "coap-non+dtls1.2-psk",
    ] {
        let said = refused(stack, &[]);
        assert!(said.contains(&format!("{stack} cannot share sockets")), "{said}");
    }
    let said = refused("coap-con", &["--size", "3000B"]);
    assert!(said.contains("goes in blocks"), "{said}");
}
