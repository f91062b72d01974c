//! Addresses that others can reach: served where clients are asked who they are, or anybody may come.

use std::net::Ipv4Addr;

use crate::common::{said, wirecost};
use crate::{certificates, serve_at};

/// Every protocol with every protection, and whether a client must show who it is.
const CASES: &[(&str, bool)] = &[
    ("mqtt", false),
    ("mqtt --tls", false),
    ("mqtt --user me:secret", true),
    ("mqtt --tls --user me:secret", true),
    ("mqtt --tls --cert server.pem --key server.key", false),
    (
        "mqtt --tls --cert server.pem --key server.key --client-ca own.pem",
        true,
    ),
    ("amqp", false),
    ("amqp --tls", false),
    ("amqp --user me:secret", true),
    ("amqp --tls --client-ca own.pem", true),
    ("http1", false),
    ("http1 --tls", false),
    ("http1 --tls --client-ca own.pem", true),
    ("http3", false),
    ("http3 --accept-0rtt", false),
    ("http3 --client-ca own.pem", true),
    ("tcp", false),
    ("tcp --tls", false),
    ("tcp --tls --client-ca own.pem", true),
    ("udp", false),
    ("udp --dtls", false),
    ("udp --psk me:secret", true),
    ("udp --dtls --client-ca own.pem", true),
    ("coap", false),
    ("coap --dtls", false),
    ("coap --psk me:secret", true),
    // Whoever comes with a certificate of any kind needs no key.
    ("coap --dtls --psk me:secret", false),
    ("coap --dtls --psk me:secret --client-ca own.pem", true),
    ("coap --oscore 00:01:000102030405060708090a0b0c0d0e0f", true),
];

#[test]
#[ignore = "needs openssl"]
fn a_public_address_requires_client_authentication() {
    for (options, asks) in CASES {
        if *asks {
            let server = serve_at(Ipv4Addr::UNSPECIFIED, certificates(), options);
            let is_warned = server.log().contains("passwords cross the network");
            let is_in_the_clear = options.contains("--user") && !options.contains("--tls");
            assert_eq!(is_warned, is_in_the_clear, "{options}");
            continue;
        }
        let folder = certificates();
        let mut command = wirecost(folder.path());
        command
            .arg("serve")
            .args(options.split(' '))
            .args(["--listen", "0.0.0.0:0"]);
        let refused = said(&mut command);
        assert_eq!(refused.code, Some(2), "{options}: {}", refused.stderr);
        let reason = "0.0.0.0:0 can be reached from the network, and this server accepts any client";
        assert!(refused.stderr.contains(reason), "{options}: {}", refused.stderr);
        let open = format!("{options} --open");
        drop(serve_at(Ipv4Addr::UNSPECIFIED, certificates(), &open));
    }
}
