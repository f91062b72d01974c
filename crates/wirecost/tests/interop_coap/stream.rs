//! coap-client, libcoap's, over TCP and TLS (RFC 8323).

use tempfile::TempDir;

use crate::peers::{Server, client, own_port};

const PACKAGE: &str = "libcoap3-bin";

/// Runs coap-client on `/test` or another path. Returns what it received, and its log of every message.
fn ask(server: &Server, scheme: &str, arguments: &[&str], path: &str) -> (Vec<u8>, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let body = folder.path().join("body");
    let uri = format!("{scheme}://127.0.0.1:{}{path}", server.port);
    let mut all: Vec<String> = ["-v", "7", "-o"].map(String::from).into();
    all.push(body.display().to_string());
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    all.push(uri);
    let output = client("coap-client-openssl", PACKAGE, &all);
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{all:?}: {complaints}");
    // There is no file where nothing came.
    (std::fs::read(&body).unwrap_or_default(), log)
}

fn exchange(server: &Server, scheme: &str, more: &[&str]) {
    let step = |arguments: &[&str]| ask(server, scheme, &[more, arguments].concat(), "/test");
    for (arguments, code, text) in [
        (&["-m", "put", "-e", "new"][..], "2.04", ""),
        (&["-m", "get"], "2.05", "new"),
        (&["-m", "delete"], "2.02", ""),
    ] {
        let (body, log) = step(arguments);
        assert!(log.contains(&format!(" c:{code} ")), "{log}");
        assert_eq!(body, text.as_bytes());
    }
}

#[test]
fn libcoap_is_answered_over_tcp() {
    let server = Server::builtin("coap-tcp");
    exchange(&server, "coap+tcp", &[]);
    let (_, log) = ask(&server, "coap+tcp", &["-m", "get"], "/nowhere");
    assert!(log.contains(" c:4.04 "), "{log}");
    assert!(
        log.contains("Max-Message-Size:1048576, Block-Wise-Transfer:"),
        "{log}"
    );
}

#[test]
fn libcoap_is_answered_over_tls() {
    let folder = TempDir::new().expect("a temporary folder");
    let authority = folder.path().join("ca.pem");
    let authority = authority.to_str().expect("a path");
    let server = Server::builtin_with("coap-tcp", own_port(), &["--tls", "--ca-out", authority]);
    exchange(&server, "coaps+tcp", &["-R", authority]);
}

/// Above 1 MiB libcoap cuts the body into BERT blocks (RFC 8323 section 6), and below it sends one message.
#[test]
fn a_body_of_libcoap_arrives_whole_or_in_bert_blocks() {
    let server = Server::builtin("coap-tcp");
    for bytes in [500_000_u32, 2_500_000] {
        let content: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        let file = server.folder().join("content");
        std::fs::write(&file, &content).expect("a file");
        let file = file.to_str().expect("a path");
        let (_, log) = ask(&server, "coap+tcp", &["-m", "put", "-f", file], "/large-update");
        assert_eq!(log.contains("BERT"), bytes > 1 << 20);
        let (body, _) = ask(&server, "coap+tcp", &["-m", "get"], "/large-update");
        assert!(body == content, "{bytes} B");
    }
}

#[test]
fn an_observer_over_tcp_hears_of_changes() {
    let server = Server::builtin("coap-tcp");
    let heard = std::thread::scope(|scope| {
        let observer = scope.spawn(|| ask(&server, "coap+tcp", &["-m", "get", "-s", "3"], "/obs"));
        server.wait(|server| server.log().contains("ObserverAdded"));
        ask(&server, "coap+tcp", &["-m", "put", "-e", "<changed>"], "/obs");
        observer.join().expect("the observer ends").0
    });
    let text = String::from_utf8(heard).expect("text");
    assert!(text.contains("<changed>"), "{text:?}");
}
