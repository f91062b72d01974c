//! CoAP clients of other makers against `wirecost serve coap` and `serve coap-tcp`.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

mod aiocoap;
mod libcoap;
mod oscore;
mod stream;
