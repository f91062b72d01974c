use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Buffer, Endpoint, Input, Output, Peer, ResetReason};

use super::*;

fn certificate_fault(client: ClientOptions, server: ServerOptions) -> (String, Vec<Fault>) {
    let mut pair = bare_pair(client, server);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    let [Fault::Certificate(reason)] = &client_faults(&pair)[..] else {
        panic!("a certificate fault, got {:?}", client_faults(&pair));
    };
    assert_eq!(messages(&pair), []);
    (reason.to_string(), server_faults(&pair))
}

#[test]
fn refused_certificates_have_a_reason() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let other = Authority::generate().expect("an authority");
        let stranger = ClientOptions {
            trust: Trust::Authorities(vec![other.certificate().to_vec()]),
            ..client_options(versions)
        };
        // The other authority has the same name and another key.
        let (reason, alert) = certificate_fault(stranger, server_options());
        assert!(
            reason.contains("issuer") || reason.contains("signature"),
            "{reason}"
        );
        assert!(matches!(&alert[..], [Fault::Alert(_)]), "{alert:?}");

        let mut late = client_options(versions);
        late.epoch.unix += 10 * YEAR;
        let (reason, alert) = certificate_fault(late, server_options());
        assert_eq!(reason, "it expired on 2036-01-01");
        assert_eq!(alert, [Fault::Alert("certificate_expired".into())]);

        let mut soon = client_options(versions);
        soon.epoch.unix -= 2 * YEAR;
        let (reason, _) = certificate_fault(soon, server_options());
        assert_eq!(reason, "it is not valid before 2026-01-01");

        let misnamed = ClientOptions {
            server_name: "elsewhere".to_owned(),
            ..client_options(versions)
        };
        let (reason, _) = certificate_fault(misnamed, server_options());
        assert!(
            reason.starts_with("it is not for elsewhere, but for localhost, server"),
            "{reason}"
        );
    }
}

#[test]
fn a_client_may_trust_any_server() {
    let options = ClientOptions {
        trust: Trust::Anyone,
        server_name: "192.0.2.1".to_owned(),
        ..client_options(Versions::Tls13)
    };
    let mut pair = bare_pair(options, server_options());
    pair.open();
    settle(&mut pair);
    assert_eq!(client_starts(&pair), [Start::Cold]);
}

#[test]
fn disjoint_versions_fail_on_both_sides() {
    let server = ServerOptions {
        versions: Versions::Tls12,
        ..server_options()
    };
    let mut pair = bare_pair(client_options(Versions::Tls13), server);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(client_faults(&pair), [Fault::Alert("protocol_version".into())]);
    assert!(matches!(&server_faults(&pair)[..], [Fault::Protocol { .. }]));
}

#[test]
fn a_silent_server_times_out() {
    let mut client = client(
        client_options(Versions::Tls13),
        bare::Client::new(Transport::Stream),
    );
    let (flow, peer) = (FIRST_FLOW, Peer::from(([192, 0, 2, 1], 1)));
    let opened = Input::Opened { flow, peer };
    client.handle_input(opened, Instant::START).expect("it goes on");
    let (mut out, mut wakes) = (Buffer::new(), None);
    while wakes.is_none() {
        if let Output::Timeout(at) = client.poll_output(&mut out) {
            wakes = Some(at.expect("a deadline"));
        }
        out.clear();
    }
    assert_eq!(wakes, Some(Instant::START + HANDSHAKE_TIMEOUT));
    client
        .handle_input(Input::Timeout, Instant::START + HANDSHAKE_TIMEOUT)
        .expect("it goes on");
    let fault = Fault::TimedOut { protocol: "TLS" };
    assert_eq!(
        client.poll_output(&mut out),
        Output::Event(Event::Failed { flow, fault })
    );
    assert_eq!(client.poll_output(&mut out), Output::Close { flow, reset: false });
    assert_eq!(client.poll_output(&mut out), Output::Timeout(None));
}

#[test]
fn a_connection_that_breaks_during_the_handshake_is_reported() {
    let mut pair = bare_pair(client_options(Versions::Tls13), server_options());
    pair.open();
    pair.reset(FIRST_FLOW, ResetReason::ByPeer);
    let reason = "connection reset by the peer during the TLS handshake";
    assert_eq!(client_faults(&pair), [Fault::Other(reason.into())]);
}

/// A server with a flow, and its outputs for given bytes.
struct Listener {
    server: Server<bare::Server>,
    events: Vec<Event<bare::ServerEvent>>,
    transmitted: Vec<u8>,
    consumed: u64,
    closed: usize,
}

impl Listener {
    fn new() -> Self {
        let mut listener = Self {
            server: server(server_options(), bare::Server::new(Transport::Stream)),
            events: Vec::new(),
            transmitted: Vec::new(),
            consumed: 0,
            closed: 0,
        };
        let peer = Peer::from(([192, 0, 2, 1], 1));
        listener.input(Input::Opened {
            flow: FIRST_FLOW,
            peer,
        });
        listener
    }

    fn input(&mut self, input: Input<'_, std::convert::Infallible>) {
        self.server
            .handle_input(input, Instant::START)
            .expect("it goes on");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.server.poll_output(&mut out) {
                Output::Timeout(_) => return,
                Output::Event(event) => self.events.push(event),
                Output::Transmit { .. } => self.transmitted.extend_from_slice(out.bytes()),
                Output::Consumed { .. } => self.consumed += out.covered(),
                Output::Close { .. } => self.closed += 1,
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let flow = FIRST_FLOW;
        self.input(Input::Received { flow, bytes });
    }
}

#[test]
fn bytes_that_are_not_tls_get_an_alert_and_are_accounted() {
    let mut listener = Listener::new();
    listener.receive(b"GET / HTTP/1.1\r\n\r\n");
    let [Event::Failed { fault, .. }] = &listener.events[..] else {
        panic!("a fault, got {:?}", listener.events);
    };
    assert_eq!(
        fault.to_string(),
        "the peer does not speak TLS: content type 0x47, expected 0x14 to 0x17"
    );
    assert_eq!(listener.transmitted.first(), Some(&0x15), "an alert");
    assert_eq!(listener.closed, 1);
    listener.receive(b"more");
    assert_eq!(listener.consumed, 22);
    assert_eq!(listener.closed, 1);
}

#[test]
fn a_server_fails_or_waits_on_any_bytes() {
    let hello = {
        let mut pair = bare_pair(client_options(Versions::Both), server_options());
        pair.open();
        pair.sent[0].bytes.clone()
    };
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let mut bytes = hello.clone();
        for _ in 0..1 + rng.next_below(8) {
            let at = rng.next_below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.next_below(8);
        }
        bytes.truncate(rng.next_below(bytes.len() as u64) as usize);
        let mut listener = Listener::new();
        listener.receive(&bytes);
        listener.input(Input::PeerClosed { flow: FIRST_FLOW });
        assert_eq!(listener.closed, 1);
    }
}

#[test]
fn a_connection_without_close_notify_is_truncated() {
    let mut pair = bare_pair(client_options(Versions::Tls13), server_options());
    pair.open();
    settle(&mut pair);
    // A FIN without a close_notify.
    let flow = FIRST_FLOW;
    pair.client
        .handle_input(Input::PeerClosed { flow }, pair.now)
        .expect("it goes on");
    let mut out = Buffer::new();
    let Output::Event(Event::Failed { fault, .. }) = pair.client.poll_output(&mut out) else {
        panic!("a fault");
    };
    assert!(fault.to_string().contains("close_notify"), "{fault}");
    let reset = bare::ClientEvent::Reset(ResetReason::ByPeer);
    assert_eq!(
        pair.client.poll_output(&mut out),
        Output::Event(Event::Inner(reset))
    );
}

#[test]
fn a_flipped_bit_ends_the_connection() {
    let mut pair = bare_pair(client_options(Versions::Tls13), server_options());
    pair.open();
    settle(&mut pair);
    let mut out = Buffer::new();
    pair.client
        .handle_input(Input::Command(send(&[7; 20])), pair.now)
        .expect("it goes on");
    pair.client.poll_output(&mut out);
    let mut bytes = out.bytes().to_vec();
    bytes[10] ^= 1;
    let received = Input::Received {
        flow: FIRST_FLOW,
        bytes: &bytes,
    };
    pair.server.handle_input(received, pair.now).expect("it goes on");
    let mut faults = Vec::new();
    loop {
        match pair.server.poll_output(&mut out) {
            Output::Timeout(_) => break,
            Output::Event(Event::Failed { fault, .. }) => faults.push(fault.to_string()),
            Output::Event(event) => panic!("nothing gets through: {event:?}"),
            _ => {}
        }
    }
    assert_eq!(
        faults,
        ["the peer does not speak TLS: cannot decrypt peer's message"]
    );
}

#[test]
fn a_client_fails_or_waits_on_any_answer() {
    let mut rng = Rng::new(2);
    for versions in [Versions::Tls13, Versions::Tls12] {
        for _ in 0..100 {
            let mut pair = bare_pair(client_options(versions), server_options());
            pair.open();
            while !pair.sent.iter().any(|sent| sent.direction == Direction::Down) {
                pair.step();
            }
            let mut bytes = pair.sent.last().expect("an answer").bytes.clone();
            // RFC 8446 section 5.1: the version in the header of an unprotected record is ignored.
            let starts = record::records(&bytes).scan(0, |end, record| {
                *end += record.len();
                Some(*end - record.len())
            });
            let ignored: Vec<usize> = starts.map(|start| start + 2).collect();
            let at = rng.next_below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.next_below(8);
            let (flow, now) = (FIRST_FLOW, pair.now);
            let received = Input::Received { flow, bytes: &bytes };
            pair.client.handle_input(received, now).expect("it goes on");
            let (mut out, mut faults, mut opened) = (Buffer::new(), 0, false);
            loop {
                out.clear();
                match pair.client.poll_output(&mut out) {
                    Output::Timeout(_) => break,
                    Output::Event(Event::Failed { .. }) => faults += 1,
                    Output::Event(Event::Inner(_)) => opened = true,
                    _ => {}
                }
            }
            assert!(
                !opened || ignored.contains(&at),
                "{versions:?}: byte {at} of {bytes:02x?}"
            );
            assert!(faults <= 1);
        }
    }
}
