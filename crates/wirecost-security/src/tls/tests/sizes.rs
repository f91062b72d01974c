use super::*;

/// The writes of one connection with a message, and their lengths.
fn connection(start: Start, versions: Versions, seed: Option<u64>) -> Vec<(Direction, Vec<u8>)> {
    let options = ClientOptions {
        start,
        ..client_options(versions)
    };
    let accepting = ServerOptions {
        accept_early_data: true,
        ..server_options()
    };
    let mut client = ClientConfig::new(options).expect("a client");
    let mut server = ServerConfig::new(accepting).expect("a server");
    if let Some(seed) = seed {
        client = client.with_seed(Rng::new(seed).host(1)).expect("a client");
        server = server.with_seed(Rng::new(seed).host(2)).expect("a server");
    }
    let mut pair = Pair::new(
        Transport::Stream,
        Client::new(client, bare::Client::new(Transport::Stream)),
        Server::new(&server, bare::Server::new(Transport::Stream)),
        FixedDelay(DELAY),
    );
    for flow in 0..2 {
        pair.open_flow(FlowId(flow));
        pair.command(send(&[7; 128]));
        settle(&mut pair);
        pair.command(ClientCommand::Close);
        settle(&mut pair);
    }
    assert_eq!(client_starts(&pair).last(), Some(&start));
    let sent = pair.sent.into_iter();
    sent.map(|sent| (sent.direction, sent.bytes)).collect()
}

const CASES: [(Start, Versions); 5] = [
    (Start::Cold, Versions::Tls13),
    (Start::Resumed, Versions::Tls13),
    (Start::ZeroRtt, Versions::Tls13),
    (Start::Cold, Versions::Tls12),
    (Start::Resumed, Versions::Tls12),
];

#[test]
fn sizes_do_not_depend_on_chance() {
    for (start, versions) in CASES {
        let lengths = || -> Vec<(Direction, usize)> {
            let sent = connection(start, versions, None).into_iter();
            sent.map(|(direction, bytes)| (direction, bytes.len())).collect()
        };
        let first = lengths();
        for _ in 1..20 {
            assert_eq!(lengths(), first, "{start} {versions:?}");
        }
    }
}

#[test]
fn a_seed_determines_every_byte() {
    for (start, versions) in CASES {
        let one = connection(start, versions, Some(1));
        assert_eq!(one, connection(start, versions, Some(1)), "{start} {versions:?}");
        assert_ne!(one, connection(start, versions, Some(2)), "{start} {versions:?}");
    }
}
