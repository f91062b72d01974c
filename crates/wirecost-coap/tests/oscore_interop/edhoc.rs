//! aiocoap with EDHOC by lakers for Python, as the server and as the client: method 3, suite 2, credentials as claims sets.

use wirecost_coap::client::{Client, Event, Request};
use wirecost_coap::code::Code;
use wirecost_coap::edhoc::{Identity, Initiator, ServerConfig, Transfer, message_name};
use wirecost_coap::message::Repr;
use wirecost_coap::server::{self, Server};

use super::common::{client_config, pattern, server_config};
use super::live::Live;
use super::peer::{Peer, lines_while_serving, response, serving};

const SCRIPT: &str = "edhoc_peer.py";
const CLIENT_KEY: [u8; 32] = [0x11; 32];
const SERVER_KEY: [u8; 32] = [0x22; 32];
/// The names that aiocoap has for both ways to send a credential.
const STYLES: [(&str, Transfer); 2] = [
    ("by-key-id", Transfer::ByReference),
    ("by-value", Transfer::ByValue),
];

fn client() -> Identity {
    Identity::with_subject(CLIENT_KEY, "77-69-72-65-63-6f-73-74", 0x2b).expect("a key of P-256")
}

fn server() -> Identity {
    Identity::with_subject(SERVER_KEY, "wirecost.eu", 0x32).expect("a key of P-256")
}

/// What the script needs: how it sends its credential, its key and its credential, and ours.
fn credentials(style: &str, key: &[u8], own: &Identity, peer: &Identity) -> [String; 4] {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let claims = |identity: &Identity| hex(identity.credential().claims());
    [style.to_owned(), hex(key), claims(own), claims(peer)]
}

/// The messages of EDHOC among the datagrams that have arrived.
fn messages(received: &[Vec<u8>]) -> Vec<(&'static str, usize)> {
    let message = |bytes: &Vec<u8>| message_name(&Repr::parse(bytes).ok()?);
    received.iter().filter_map(message).collect()
}

#[test]
#[ignore = "needs the Python packages"]
fn our_client_agrees_with_aiocoap() {
    for ((style, transfer), message_2) in STYLES.into_iter().zip([45, 45 + 96]) {
        let (_peer, port) = serving(SCRIPT, &credentials(style, &SERVER_KEY, &server(), &client()));
        let initiator = Initiator {
            identity: client(),
            server: server().credential().clone(),
            transfer,
            identifier: vec![1],
            secret: [0x33; 32],
        };
        let mut live = Live::new(Client::new(client_config().with_edhoc(initiator)));
        live.connect(port);
        live.run_until(|live| !live.events.is_empty());
        assert_eq!(live.events, [Event::Opened], "{style}");
        // aiocoap gives no Content-Format, so that only its place tells what it is.
        let second = Repr::parse(&live.received[0]).expect("a message");
        assert_eq!((second.code, second.payload.len()), (Code::CHANGED, message_2));
        for size in [0, 20, 1_024] {
            let put = response(&mut live, Request::put("/test", pattern(size)));
            assert_eq!(put.code, Code::CHANGED, "{style}, {size} B");
            let got = response(&mut live, Request::get("/test"));
            assert_eq!((got.code, got.payload), (Code::CONTENT, pattern(size)));
        }
        assert_eq!(live.endpoint.stats().unverified, 0);
    }
}

/// message_1 of aiocoap has an item of external authorization data more, by which it asks for the server's credential by value.
#[test]
#[ignore = "needs the Python packages"]
fn aiocoap_agrees_with_our_server() {
    for ((style, _), message_3) in STYLES.into_iter().zip([19, 19 + 108 + 1]) {
        let config = server::Config {
            edhoc: Some(ServerConfig {
                identity: server(),
                clients: client().credential().clone(),
                by_value_to: Vec::new(),
                expected: 1,
                secret: [0x44; 32],
            }),
            requires_oscore: true,
            ..server_config()
        };
        let mut live = Live::new(Server::new(config));
        let security = credentials(style, &CLIENT_KEY, &client(), &server());
        let peer = Peer::start(SCRIPT, "ask", live.port(), &security);
        let expected = ["2.04 Changed", "2.05 Content 20 True", "refused"];
        assert_eq!(lines_while_serving(peer, &mut live), expected, "{style}");
        // aiocoap 0.4.17 agrees on a context before each request.
        let session = [("EDHOC message_1", 38), ("EDHOC message_3", message_3)];
        let seen = messages(&live.received);
        assert_eq!(seen[..4], [session, session].concat(), "{style}");
    }
}
