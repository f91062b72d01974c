//! What live stacks draw from the system and simulated ones from their seed.

use std::sync::Arc;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
use wirecost_security::Start;

use super::channels::{ChannelOptions, ClientChannels, ServerChannels};
use super::client::ClientConfig;
use super::server::Clients;
use super::{Client, Command, Credentials, Message, Server, Stack};

/// A channel of each kind.
const SECRETIVE: [&str; 6] = [
    "tcp+tls1.3",
    "mqtt-qos1+tls1.2",
    "coap-con+dtls1.3",
    "coap-con+dtls1.2",
    "coap-con+dtls1.2-psk",
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
        server: ServerChannels::simulated(credentials.clone(), options(), rng.purpose(3)),
    }
}

fn config() -> ClientConfig {
    ClientConfig {
        client_id: "wc-00001".into(),
        keep_alive: 0,
        host: 0,
        rng: Rng::new(9),
        start: Start::Cold,
        connection_close: false,
        session: None,
    }
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
fn simulated_stacks_send_the_same_bytes_again_and_others_by_another_seed() {
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
fn live_stacks_never_send_the_same_bytes_again() {
    let credentials = Credentials::generate(Clock::start(), false).expect("credentials");
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
fn simulated_objects_follow_from_the_seed_and_live_ones_from_nothing() {
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
