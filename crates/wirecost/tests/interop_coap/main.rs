//! CoAP clients of other makers against `wirecost serve coap`.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

mod aiocoap;
mod libcoap;
mod oscore;
