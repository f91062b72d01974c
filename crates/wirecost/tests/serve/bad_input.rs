//! Command lines that cannot be meant, and files that are of no use.

use std::net::{Ipv4Addr, TcpListener};

use crate::certificates;
use crate::common::{Said, said, wirecost};

/// Options, and what the sentence must say. Every one is exit code 2.
const CASES: &[(&str, &str)] = &[
    (
        "mqtt --dtls",
        "MQTT cannot be served with --dtls; it stands alone or with --tls",
    ),
    (
        "amqp --psk me:secret",
        "AMQP 1.0 cannot be served with --psk; it stands alone or with --tls",
    ),
    (
        "coap --tls",
        "CoAP cannot be served with --tls; it stands alone or with --dtls, --psk, --oscore",
    ),
    (
        "udp --oscore 00:01:02",
        "bare UDP cannot be served with --oscore; it stands alone or with --dtls, --psk",
    ),
    (
        "http3 --dtls",
        "HTTP/3 cannot be served with --dtls; it stands alone or with --tls, which it has by itself",
    ),
    ("coap --dtls --oscore 00:01:02", "cannot be used with"),
    ("coap --psk me", "expected IDENTITY:KEY"),
    ("coap --psk me:", "the key is empty"),
    ("coap --psk me:0xzz", "\"zz\" is not hex"),
    ("coap --oscore 01:01:02", "cannot use --oscore: "),
    ("coap --oscore 01", "expected CLIENT_ID:SERVER_ID:SECRET"),
    ("coap --edhoc 01", "expected KEY:CREDENTIAL:CLIENT_CREDENTIAL"),
    ("mqtt --user me", "expected NAME:PASSWORD"),
    (
        "http1 --user me:secret",
        "--user is of no use to HTTP/1.1: its server knows no users",
    ),
    ("mqtt --accept-0rtt", "--accept-0rtt is of no use to MQTT"),
    ("coap --dtls --accept-0rtt", "--accept-0rtt is of no use to CoAP"),
    (
        "mqtt --client-ca own.pem",
        "--client-ca is of no use to MQTT: nothing here has a certificate",
    ),
    (
        "coap --psk me:secret --ca-out ca.pem",
        "--ca-out is of no use to CoAP",
    ),
    ("tcp --keylog keys", "--keylog is of no use to bare TCP"),
    ("mqtt --tls --cert server.pem", "--key <FILE>"),
    (
        "mqtt --tls --cert nowhere.pem --key server.key",
        "cannot read --cert nowhere.pem: No such file",
    ),
    (
        "http3 --cert server.pem --key nowhere.key",
        "cannot read --key nowhere.key: No such file",
    ),
    (
        "mqtt --tls --cert server.pem --key client.key",
        "cannot use --cert server.pem with --key client.key: cannot use the certificate and key: the private key is not that of",
    ),
    (
        "coap --dtls --cert server.pem --key client.key",
        "cannot use --cert server.pem with --key client.key: ",
    ),
    (
        "mqtt --tls --cert server.key --key server.key",
        "no certificate in the PEM text",
    ),
    (
        "mqtt --tls --cert server.pem --key server.pem",
        "cannot read the private key as PEM",
    ),
    (
        "mqtt --tls --cert mixed.pem --key server.key",
        "cannot use --cert mixed.pem with --key server.key: its certificates do not lead from the first to the last: ",
    ),
    (
        "http3 --cert long.pem --key server.key",
        "B of certificates are more than the 65471 B that a handshake can carry",
    ),
    (
        "mqtt --tls --cipher aes128-ccm8",
        "no library of TLS here has CCM",
    ),
    (
        "coap --dtls --cipher aes256-gcm",
        "--cipher is of no use to CoAP: it has no TLS",
    ),
    (
        "mqtt --tls --client-ca nowhere.pem",
        "cannot read --client-ca nowhere.pem: No such file",
    ),
    (
        "coap --dtls --client-ca server.key",
        "cannot use --client-ca server.key: no certificate in the PEM text",
    ),
    (
        "mqtt --tls --ca-out nowhere/ca.pem",
        "cannot write nowhere/ca.pem: No such file",
    ),
    (
        "mqtt --tls --keylog nowhere/keys",
        "cannot write nowhere/keys: No such file",
    ),
    (
        "mqtt --tls --ca-out -",
        "--ca-out -: clients read the authority from a file",
    ),
    ("mqtt --tls --keylog -", "--keylog -: secrets are for you alone"),
    (
        "mqtt --tls --listen 0.0.0.0:0",
        "can be reached from the network, and this server accepts any client",
    ),
];

fn serve(options: &str, listen: Option<&str>) -> Said {
    let folder = certificates();
    let mut command = wirecost(folder.path());
    command.arg("serve").args(options.split(' '));
    command.args(listen.map(|address| format!("--listen={address}")));
    said(&mut command)
}

#[test]
#[ignore = "needs openssl"]
fn contradictory_options_are_refused_with_the_reason() {
    for (options, reason) in CASES {
        let listen = (!options.contains("--listen")).then_some("127.0.0.1:0");
        let refused = serve(options, listen);
        assert_eq!(refused.code, Some(2), "{options}: {}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{options}: {}", refused.stderr);
        assert!(
            !refused.stderr.contains("serving"),
            "{options}: {}",
            refused.stderr
        );
    }
}

#[test]
#[ignore = "needs openssl"]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = serve("mqtt --tls", Some(&address));
    assert_eq!(refused.code, Some(10), "{}", refused.stderr);
    assert!(
        refused.stderr.contains(&format!("cannot listen on {address}")),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("hint: another program listens there"),
        "{}",
        refused.stderr
    );
}
