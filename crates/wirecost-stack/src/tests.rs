//! What live stacks draw from the system and simulated ones from their seed.

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output, Rng};
use wirecost_security::Start;

use super::channels::{ChannelOptions, ClientChannels, ServerChannels};
use super::client::ClientConfig;
use super::server::{Clients, services};
use super::{Client, Command, Credentials, Event, Message, Server, Stack};

/// A channel of each kind.
const SECRETIVE: [&str; 7] = [
    "tcp+tls1.3",
    "mqtt-qos1+tls1.2",
    "coap-con+dtls1.3",
    "coap-con+dtls1.2",
    "coap-con+dtls1.2-psk",
    "coap-con+dtls1.2-cid",
    "http3",
];

/// Both ends of a stack, and what their client sends.
struct Ends {
    message: Message,
    client: ClientChannels,
    server: ServerChannels,
}

fn options() -> ChannelOptions {
    ChannelOptions {
        accept_early_data: true,
        client_certificates: true,
        ..ChannelOptions::default()
    }
}

fn live(stack: Stack, credentials: &Credentials) -> Ends {
    let payload: Arc<[u8]> = Arc::from([7; 32].as_slice());
    Ends {
        message: Message::new(stack, "t", &payload).expect("a message"),
        client: ClientChannels::new(credentials, options()),
        server: ServerChannels::new(credentials.clone(), options(), 1),
    }
}

fn simulated(stack: Stack, credentials: &Credentials, seed: u64) -> Ends {
    let payload: Arc<[u8]> = Arc::from([7; 32].as_slice());
    let rng = Rng::new(seed);
    Ends {
        message: Message::simulated(stack, "t", &payload, rng.purpose(1)).expect("a message"),
        client: ClientChannels::simulated(credentials, options(), rng.purpose(2)),
        server: ServerChannels::simulated(credentials.clone(), options(), 1, rng.purpose(3)),
    }
}

fn config() -> ClientConfig {
    ClientConfig::new("wc-00001", Rng::new(9))
}

/// Every byte that both ends send for a connect and a message, where all else that is random is the same.
fn sent(stack: Stack, ends: &Ends) -> Vec<Vec<u8>> {
    let client = Client::new(&ends.message, &config(), &ends.client).expect("a client");
    let server = Server::new(stack, Clients::Devices, &ends.server, 9).expect("a server");
    let delay = FixedDelay(Duration::from_millis(1));
    let mut pair = Pair::new(stack.transport(), client, server, delay);
    pair.open();
    pair.drive_until(Instant::from_millis(500));
    pair.command(Command::Send { message: 0 });
    pair.drive_until(Instant::from_millis(1_000));
    pair.sent.into_iter().map(|sent| sent.bytes).collect()
}

#[test]
fn simulated_stacks_repeat_their_bytes_by_seed() {
    let credentials = Credentials::simulated(1).expect("credentials");
    for name in SECRETIVE {
        let stack: Stack = name.parse().expect("a stack");
        let of_seed = |seed| sent(stack, &simulated(stack, &credentials, seed));
        let one = of_seed(1);
        assert!(one.len() > 4, "{name}: {} packets", one.len());
        assert!(one == of_seed(1), "{name}: the same seed gives the same bytes");
        let other = of_seed(2);
        assert!(one != other, "{name}: another seed gives other bytes");
        let lengths = |sent: &[Vec<u8>]| sent.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(
            lengths(&one),
            lengths(&other),
            "{name}: sizes do not depend on the seed"
        );
    }
}

#[test]
fn devices_of_one_offer_send_what_devices_of_their_own_do() {
    let credentials = Credentials::simulated(1).expect("credentials");
    for name in SECRETIVE.into_iter().chain(["coap-con", "coap-con+oscore"]) {
        let stack: Stack = name.parse().expect("a stack");
        let others = simulated(stack, &credentials, 2);
        // They have made their keys, which the next device must not have.
        let _ = sent(stack, &others);
        let own = simulated(stack, &credentials, 1);
        let bytes = sent(stack, &own);
        let shared = Ends {
            client: others.client.seeded(Rng::new(1).purpose(2)),
            server: others.server.seeded(Rng::new(1).purpose(3)),
            message: own.message,
        };
        assert!(sent(stack, &shared) == bytes, "{name}");
    }
}

/// Sizes of what a device that starts by EDHOC and this server send for a connect and a message.
fn sizes_by_edhoc(server: Server, ends: &Ends) -> Vec<usize> {
    let config = ClientConfig {
        start: Start::Edhoc,
        ..config()
    };
    let client = Client::new(&ends.message, &config, &ends.client).expect("a client");
    let delay = FixedDelay(Duration::from_millis(1));
    let mut pair = Pair::new(Transport::Datagram, client, server, delay);
    pair.open();
    pair.drive_for(Duration::from_millis(100));
    pair.command(Command::Send { message: 0 });
    pair.drive_for(Duration::from_millis(100));
    pair.sent.into_iter().map(|sent| sent.bytes.len()).collect()
}

#[test]
fn a_port_with_oscore_takes_edhoc_whichever_stack_is_named_first() {
    let credentials = Credentials::simulated(1).expect("credentials");
    let [plain, oscore] = ["coap-con", "coap-con+oscore"].map(|name| name.parse().expect("a stack"));
    let ends = live(oscore, &credentials);
    let alone = |stack| Server::new(stack, Clients::Devices, &ends.server, 9).expect("a server");
    let expected = sizes_by_edhoc(alone(oscore), &ends);
    assert_ne!(
        sizes_by_edhoc(alone(plain), &ends),
        expected,
        "it has no keys for EDHOC"
    );
    for stacks in [[plain, oscore], [oscore, plain]] {
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        let mut services = services(&stacks, address, &ends.server, 9).expect("services");
        assert_eq!(services.len(), 1, "one port");
        assert_eq!(sizes_by_edhoc(services.remove(0).endpoint, &ends), expected);
    }
}

#[test]
fn a_message_is_sent_when_its_last_byte_is_handed_out() {
    let credentials = Credentials::simulated(1).expect("credentials");
    let round_trip = Duration::from_millis(2);
    // Blocks wait for one another, and QUIC for its congestion window.
    for (name, bytes, round_trips) in [
        ("tcp", 100_000, 0..1),
        ("mqtt-qos0", 100_000, 0..1),
        ("mqtt-qos2+tls1.3", 100_000, 0..1),
        ("amqp-settled", 1_000, 0..1),
        ("http1", 100_000, 0..1),
        ("mqttsn-qos-1", 1_000, 0..1),
        ("mqttsn-qos1", 1_000, 0..1),
        ("mqttsn-qos2+dtls1.2-psk", 1_000, 0..1),
        ("coap-con", 1_000, 0..1),
        ("coap-con", 3_000, 2..3),
        ("coap-non+dtls1.3", 3_000, 2..3),
        ("coap-tcp", 100_000, 0..1),
        ("coap-tcp+tls1.3", 100_000, 0..1),
        ("coap-tcp", 2_000_000, 1..2),
        ("http3", 1_000, 0..1),
        ("http3", 100_000, 2..6),
    ] {
        let stack: Stack = name.parse().expect("a stack");
        let channels = ClientChannels::new(&credentials, options());
        let message = Message::new(stack, "test", &Arc::<[u8]>::from(vec![7; bytes])).expect("a message");
        let client = Client::new(&message, &config(), &channels).expect("a client");
        let channels = ServerChannels::new(credentials.clone(), options(), 1);
        let server = Server::new(stack, Clients::Devices, &channels, 9).expect("a server");
        let mut pair = Pair::new(stack.transport(), client, server, FixedDelay(round_trip / 2));
        pair.open();
        pair.drive_for(Duration::from_millis(500));
        let begin = pair.now;
        pair.command(Command::Send { message: 4 });
        pair.drive_for(Duration::from_millis(500));
        let sent: Vec<Duration> = pair
            .client_events
            .iter()
            .filter(|(_, event)| *event == Event::Sent { message: 4 })
            .map(|(at, _)| at.saturating_since(begin))
            .collect();
        assert_eq!(sent.len(), 1, "{name}: {:?}", pair.client_events);
        let expected = round_trip * round_trips.start..round_trip * round_trips.end;
        assert!(
            expected.contains(&sent[0]),
            "{name}, {bytes} B: sent after {:?}",
            sent[0]
        );
    }
}

#[test]
fn a_server_holds_an_incomplete_handshake_and_nothing_afterwards() {
    let credentials = Credentials::simulated(2).expect("credentials");
    for name in [
        "tcp+tls1.3",
        "coap-con+dtls1.3",
        "coap-con+dtls1.2",
        "coap-con+dtls1.2-psk",
        "http3",
    ] {
        let stack: Stack = name.parse().expect("a stack");
        let ends = live(stack, &credentials);
        let client = Client::new(&ends.message, &config(), &ends.client).expect("a client");
        let clients = Clients::Anyone {
            stored_bytes: Some(1 << 20),
        };
        let server = Server::new(stack, clients, &ends.server, 9).expect("a server");
        let delay = FixedDelay(Duration::from_millis(20));
        let mut pair = Pair::new(stack.transport(), client, server, delay);
        pair.open();
        let mut most = Held::default();
        for _ in 0..500 {
            pair.drive_for(Duration::from_millis(1));
            let held = pair.server.held(FlowId(0));
            if held.bytes > most.bytes {
                most = held;
            }
        }
        assert!(most.is_unfinished && most.bytes >= 6 << 10, "{name}: {most:?}");
        assert_eq!(pair.server.held(FlowId(0)), Held::default(), "{name}");
    }
}

#[test]
fn live_stacks_never_send_the_same_bytes_again() {
    let credentials = Credentials::simulated(2).expect("credentials");
    for name in SECRETIVE {
        let stack: Stack = name.parse().expect("a stack");
        let again = || sent(stack, &live(stack, &credentials));
        assert!(again() != again(), "{name}");
    }
}

/// The object that a client sends of `message`.
fn object(message: &Message, credentials: &Credentials) -> Vec<u8> {
    let channels = ClientChannels::new(credentials, options());
    let mut client = Client::new(message, &config(), &channels).expect("a client");
    let (flow, peer) = (FlowId(0), ([10, 78, 0, 1], 1).into());
    let mut bytes = Vec::new();
    for input in [
        Input::Opened { flow, peer },
        Input::Command(Command::Send { message: 0 }),
    ] {
        client.handle_input(input, Instant::START).expect("a live client");
        let mut out = Buffer::new();
        while !matches!(client.poll_output(&mut out), Output::Timeout(_)) {}
        bytes.extend_from_slice(out.bytes());
    }
    bytes
}

#[test]
fn only_simulated_objects_follow_from_the_seed() {
    let credentials = Credentials::simulated(1).expect("credentials");
    let stack: Stack = "udp+cose".parse().expect("a stack");
    let message = simulated(stack, &credentials, 1).message;
    let of_seed = |seed| object(&message.with_seed(Rng::new(seed)), &credentials);
    assert!(of_seed(1) == of_seed(1));
    assert!(
        of_seed(1) != of_seed(2),
        "each device seals with randomness of its own"
    );
    let again = simulated(stack, &credentials, 1).message.with_seed(Rng::new(1));
    assert!(
        of_seed(1) == object(&again, &credentials),
        "the keys follow from the seed"
    );
    let live = live(stack, &credentials).message;
    assert!(object(&live, &credentials) != object(&live, &credentials));
}
