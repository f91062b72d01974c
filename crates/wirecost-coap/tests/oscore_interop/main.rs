//! OSCORE and EDHOC with other programs: aiocoap as the peer, and tshark to decode the datagrams.

#[path = "../common/mod.rs"]
mod common;
mod live;
mod peer;

mod aiocoap;
mod edhoc;
mod tshark;

use wirecost_coap::oscore::{Context, Role};

/// The master secret of all security contexts in these tests.
const SECRET: &[u8; 16] = b"an example of it";
/// The device whose context is used.
const DEVICE: u16 = 0x2a07;

fn context(role: Role) -> Context {
    Context::lab(SECRET, role, DEVICE).expect("ids that fit")
}
