//! OSCORE with programs of other makers: aiocoap at the other end, tshark as the witness of what is on the wire.

#[path = "../common/mod.rs"]
mod common;
mod live;

mod aiocoap;
mod tshark;

use wirecost_coap::oscore::{Context, Role};

/// What all security contexts of these tests are derived from.
const SECRET: &[u8; 16] = b"an example of it";
/// The device whose context is used.
const DEVICE: u16 = 0x2a07;

fn context(role: Role) -> Context {
    Context::lab(SECRET, role, DEVICE).expect("ids that fit")
}
