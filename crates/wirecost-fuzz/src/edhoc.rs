//! EDHOC before OSCORE: client and server that agree on their security context.

use wirecost_coap::client::{Client, Event};
use wirecost_coap::edhoc::{Lab, Transfer};

use crate::coap;
use crate::rig::Rig;

/// A bit of the first byte: both ends send their credentials by value.
const BY_VALUE: u8 = 0x40;

/// A client that begins with message_1 and sends message_3 with its first request, under a script; see [`coap::client`]. Whatever
/// arrives, it sends no request before the server has proved its key. Returns whether it agreed on a context, and every datagram was a
/// message.
pub fn client(bytes: &[u8]) -> bool {
    let transfer = match bytes.first() {
        Some(choice) if choice & BY_VALUE != 0 => Transfer::ByValue,
        Some(_) | None => Transfer::ByReference,
    };
    let initiator = lab().initiator(transfer, b"one");
    let rig = coap::played_client(bytes, |config| config.with_edhoc(initiator));
    rig.is_some_and(|rig| agreed(&rig) && rig.endpoint.stats().malformed == 0)
}

fn agreed(rig: &Rig<Client>) -> bool {
    let is_failure = |event: &Event| matches!(event, Event::NotAgreed(_));
    rig.events.contains(&Event::Opened) && !rig.events.iter().any(is_failure)
}

/// A server that takes message_1, and message_3 with a protected request, and others, under a script; see [`coap::server`].
pub fn server(bytes: &[u8]) -> bool {
    coap::server_that(bytes, |config| wirecost_coap::server::Config {
        edhoc: Some(lab().server(1)),
        ..config
    })
}

/// The keys that the seeds were made with.
fn lab() -> Lab {
    Lab::new(&[7; 16]).expect("keys")
}
