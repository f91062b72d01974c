//! Raw public keys in place of certificates (RFC 7250): in a comparison, between our own ends, and with GnuTLS both ways.

mod common;
#[path = "peers/mod.rs"]
mod peers;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use common::{Run, Said, ended, said, wirecost};
use peers::{Server, own_port};

/// What GnuTLS needs to have them, and nothing else.
const PRIORITY: &str = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CTYPE-ALL:+CTYPE-SRV-RAWPK:+CTYPE-CLI-X509";

fn connect_bytes(run: &Run, stack: &str) -> [u64; 2] {
    let mut cells = run.summary.cells.iter();
    let cell = cells.find(|cell| cell.stack == stack).expect(stack);
    assert_eq!(cell.not_run, None, "{stack}");
    let connect = cell.connect.as_ref().expect("a connect");
    [connect.up.wire.min, connect.down.wire.min]
}

/// A leaf has 422 B, a key of P-256 91 B. The extension of the type has 6 B up and 5 B down.
#[test]
fn a_comparison_has_raw_public_keys_in_tls_1_3_alone() {
    let stacks = "mqtt-qos1+tls1.3,http3,mqtt-qos1+tls1.2,coap-con+dtls1.3";
    let run = |more: &str| Run::compare(&format!("{stacks} --engine sim -n 2{more}"));
    let (certified, raw) = (run(""), run(" --chain raw-public-key"));
    let [before, after] = [&certified, &raw].map(|run| connect_bytes(run, "mqtt-qos1+tls1.3"));
    assert_eq!(after[0], before[0] + 6);
    assert_eq!(after[1], before[1] - leaf_bytes() + 91 + 5);
    // The datagrams of QUIC are padded to as many bytes.
    let [before, after] = [&certified, &raw].map(|run| connect_bytes(run, "http3"));
    assert_eq!(after, before);
    for (stack, why) in [
        (
            "mqtt-qos1+tls1.2",
            "the library has them in TLS 1.3 and HTTP/3 alone",
        ),
        (
            "coap-con+dtls1.3",
            "its library sends no chain and no raw public key",
        ),
    ] {
        let mut cells = raw.summary.cells.iter();
        let cell = cells.find(|cell| cell.stack == stack).expect(stack);
        let said = cell.not_run.clone().unwrap_or_default();
        assert!(said.contains(why), "{stack}: {said}");
    }
}

fn leaf_bytes() -> u64 {
    let authority = wirecost_security::certificate::Authority::generate().expect("an authority");
    let identity = wirecost_security::certificate::Identity::generate(&authority).expect("a server");
    identity.certificate().len() as u64
}

fn report(folder: &Path, arguments: &str) -> Value {
    let out = said(wirecost(folder).arg("probe").args(arguments.split(' ')));
    assert_eq!(out.code, Some(0), "probe {arguments}\n{}", out.stderr);
    serde_json::from_str(&out.stdout).expect("JSON")
}

fn fact(report: &Value, about: &str) -> String {
    let mut facts = report["facts"].as_array().expect("facts").iter();
    let fact = facts.find(|fact| fact["about"] == about);
    fact.and_then(|fact| fact["text"].as_str())
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn our_own_ends_trust_a_key_in_a_file() {
    let folder = common::open_folder();
    let public = folder.path().join("public.pem");
    let out = format!("--ca-out={}", public.display());
    let server = Server::builtin_with("http1", own_port(), &["--tls", "--chain", "raw-public-key", &out]);
    let text = fs::read_to_string(&public).expect("the key");
    assert!(text.starts_with("-----BEGIN PUBLIC KEY-----"), "{text}");
    assert!(server.log().contains(" with TLS 1.3; "), "{}", server.log());
    // Clients that have one have it in TLS 1.3 alone as well, beside a server's certificate.
    let file = public.display().to_string();
    let asking = Server::builtin_with("http1", own_port(), &["--tls", "--client-ca", &file]);
    assert!(
        asking.log().contains(" with TLS 1.3, clients need "),
        "{}",
        asking.log()
    );
    let url = format!("https://localhost:{}/test", server.port);
    let probed = report(
        folder.path(),
        &format!("{url} -4 --cacert public.pem --save-chain seen.pem --json -"),
    );
    assert_eq!(fact(&probed, "chain"), "91 B of a raw public key (p256)");
    let seen = fs::read_to_string(folder.path().join("seen.pem")).expect("the key");
    assert_eq!(seen, text, "what was seen can be trusted the next time");
    // Another key, and authorities of certificates.
    let other = Server::builtin_with(
        "http1",
        own_port(),
        &[
            "--tls",
            "--chain",
            "raw-public-key",
            &format!("--ca-out={}", folder.path().join("other.pem").display()),
        ],
    );
    for (trusted, port, why) in [
        (
            "other.pem",
            server.port,
            "its raw public key is not one that is trusted",
        ),
        (
            "public.pem",
            other.port,
            "its raw public key is not one that is trusted",
        ),
    ] {
        let line = format!("probe https://localhost:{port}/test -4 --cacert {trusted}");
        let refused = said(wirecost(folder.path()).args(line.split(' ')));
        assert_eq!(refused.code, Some(12), "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

/// Two files: a private key on P-256 and its public key.
fn keys(folder: &Path) {
    common::need_program("openssl", "openssl");
    for line in [
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out raw.key",
        "pkey -in raw.key -pubout -out raw.pem",
    ] {
        let made = Command::new("openssl")
            .args(line.split(' '))
            .current_dir(folder)
            .output();
        assert!(made.expect("openssl starts").status.success(), "{line}");
    }
}

#[test]
#[ignore = "needs openssl and gnutls-bin"]
fn gnutls_serves_a_raw_public_key_to_our_client() {
    common::need_program("gnutls-serv", "gnutls-bin");
    let folder = common::open_folder();
    keys(folder.path());
    let port = own_port();
    let mut command = Command::new("gnutls-serv");
    command
        .args([
            "--http",
            "--disable-client-cert",
            "--priority",
            PRIORITY,
            "--port",
            &port.to_string(),
        ])
        .args(["--rawpkkeyfile", "raw.key", "--rawpkfile", "raw.pem"])
        .current_dir(folder.path());
    let server = Server::start(command, port);
    server.wait(|server| server.log().contains("done"));
    let line = format!("https://localhost:{port}/ -4 --cacert raw.pem --get --no-resumption --json -");
    let probed = report(folder.path(), &line);
    assert_eq!(fact(&probed, "chain"), "91 B of a raw public key (p256)");
}

#[test]
#[ignore = "needs gnutls-bin"]
fn gnutls_takes_the_raw_public_key_of_our_server() {
    common::need_program("gnutls-cli", "gnutls-bin");
    let server = Server::builtin_with("http1", own_port(), &["--tls", "--chain", "raw-public-key"]);
    let seen = gnutls_cli(server.port, PRIORITY);
    assert!(seen.stdout.contains("Raw Public Key"), "{seen:?}");
    assert!(seen.stdout.contains("HTTP/1.1 404"), "{seen:?}");
    // Who knows certificates alone is refused.
    let other = gnutls_cli(server.port, "NORMAL");
    assert!(!other.stdout.contains("HTTP/1.1"), "{other:?}");
}

/// A client of GnuTLS that gets one resource; it trusts any key.
fn gnutls_cli(port: u16, priority: &str) -> Said {
    let child = Command::new("timeout")
        .args(["20", "gnutls-cli", "--insecure", "--priority", priority])
        .args(["-p", &port.to_string(), "localhost"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("timeout(1) starts");
    let request = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut input = child.stdin.take().expect("a pipe");
    // A client that was refused has ended.
    drop(std::io::Write::write_all(&mut input, request.as_bytes()));
    let said = ended(child);
    drop(input);
    said
}
