//! OpenSSL's s_client: resumption, and early data that is taken or not.

use std::process::Command;

use crate::common::{need_program, said as run};
use crate::peers::Server;
use crate::{filled, said, serve};

const REQUEST: &str = "GET /.well-known/core HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Sends [`REQUEST`], as early data too where the options say so; returns what s_client says until the server closes.
fn ask(server: &Server, options: &str) -> String {
    need_program("openssl", "openssl");
    std::fs::write(server.folder().join("request"), REQUEST).expect("a file");
    let line = format!(
        "timeout 60 openssl s_client -ign_eof -verify_return_error -verify_ip 127.0.0.1 -CAfile @own.pem \
         -connect 127.0.0.1:PORT {options} < @request"
    );
    let asked = run(Command::new("sh").arg("-c").arg(filled(server, &line)));
    assert!(
        asked.stdout.contains("HTTP/1.1 "),
        "{options}: {}{}",
        asked.stdout,
        asked.stderr
    );
    asked.stdout
}

fn http1(more: &str) -> Server {
    serve(&format!("http1 --tls --cert server.pem --key server.key{more}"))
}

#[test]
#[ignore = "needs openssl"]
fn a_second_connection_is_resumed_in_both_versions() {
    for version in ["-tls1_2", "-tls1_3"] {
        let server = http1("");
        let first = ask(&server, &format!("{version} -sess_out @session"));
        assert!(first.contains("New, TLSv1"), "{first}");
        let second = ask(&server, &format!("{version} -sess_in @session"));
        assert!(second.contains("Reused, TLSv1"), "{version}: {second}");
        said(
            &server,
            &["handshake complete, cold", "handshake complete, resumed"],
        );
    }
}

#[test]
#[ignore = "needs openssl"]
fn early_data_is_neither_offered_nor_taken_without_consent() {
    let server = http1("");
    let first = ask(&server, "-sess_out @session");
    assert!(first.contains("Max Early Data: 0"), "{first}");
    let second = ask(&server, "-sess_in @session -early_data @request");
    assert!(second.contains("Early data was not sent"), "{second}");
    // A client that has a ticket of another server sends it all the same.
    let taking = http1(" --accept-0rtt");
    ask(&taking, "-sess_out @session");
    std::fs::copy(taking.folder().join("session"), server.folder().join("session")).expect("a copy");
    let refused = ask(&server, "-sess_in @session -early_data @request");
    assert!(refused.contains("Early data was rejected"), "{refused}");
    assert!(
        !server.log().contains("early (may be replayed)"),
        "{}",
        server.log()
    );
}

#[test]
#[ignore = "needs openssl"]
fn early_data_that_is_taken_is_marked() {
    let server = http1(" --accept-0rtt");
    said(&server, &["with TLS 1.3 and 1.2, early data is taken;"]);
    let first = ask(&server, "-sess_out @session");
    assert!(first.contains("Max Early Data: 16384"), "{first}");
    let second = ask(&server, "-sess_in @session -early_data @request");
    assert!(second.contains("Early data was accepted"), "{second}");
    let early = format!("{} B early (may be replayed)", REQUEST.len());
    said(
        &server,
        &[
            "handshake complete, cold",
            &early,
            "Answered",
            "handshake complete, 0rtt",
        ],
    );
}
