//! OSCORE: the option, and client and server that protect their messages.

use wirecost_coap::oscore::option::OscoreOption;
use wirecost_coap::oscore::{Context, Role};

use crate::coap;

/// A value of the option: one that parses is emitted to the same bytes. Returns whether it is one.
pub fn option(bytes: &[u8]) -> bool {
    let Ok(option) = OscoreOption::parse(bytes) else {
        return false;
    };
    let mut emitted = Vec::new();
    option.emit(&mut emitted);
    assert_eq!(emitted, bytes);
    assert_eq!(emitted.len(), option.emitted_len());
    true
}

/// A client that protects its requests, under a script; see [`coap::client`].
pub fn client(bytes: &[u8]) -> bool {
    coap::client_that(bytes, |config| config.with_oscore(context(Role::Client)))
}

/// A server that takes protected requests and others, under a script; see [`coap::server`].
pub fn server(bytes: &[u8]) -> bool {
    coap::server_that(bytes, |config| config.with_oscore([context(Role::Server)], false))
}

/// The context that the seeds were made with.
fn context(role: Role) -> Context {
    Context::lab(&[7; 16], role, 1).expect("ids that fit")
}
