//! coap-client, libcoap's.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::peers::{Server, client};

const PACKAGE: &str = "libcoap3-bin";
/// Larger than a block, and no multiple of any block size.
const LARGE_BYTES: usize = 5_001;

/// What coap-client received.
struct Answer {
    body: Vec<u8>,
    /// Type and code of each message, such as `ACK 2.05`.
    received: Vec<String>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    fn count(&self, message: &str) -> usize {
        self.received.iter().filter(|other| *other == message).count()
    }
}

/// Runs coap-client with arguments that are separated by blanks, on a path of the server.
fn ask(server: &Server, arguments: &str, path: &str) -> Answer {
    let folder = TempDir::new().expect("a temporary folder");
    let body = folder.path().join("body");
    let uri = format!("coap://127.0.0.1:{}{path}", server.port);
    // Level 7 shows every message on its way.
    let mut all: Vec<String> = ["-v", "7", "-o"].map(String::from).into();
    all.push(body.display().to_string());
    all.extend(arguments.split(' ').map(String::from));
    all.push(uri);
    let output = client("coap-client-notls", PACKAGE, &all);
    let shown = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "coap-client {all:?}: {complaints}");
    let lines: Vec<&str> = shown.lines().collect();
    let received = lines
        .windows(2)
        .filter(|pair| pair[0].contains(" UDP : received "));
    Answer {
        // There is no file where nothing came.
        body: std::fs::read(&body).unwrap_or_default(),
        received: received.map(|pair| message(pair[1])).collect(),
    }
}

/// Type and code in a line such as `v:1 t:ACK c:2.05 i:7f69 {01} [ ]`.
fn message(line: &str) -> String {
    let word = |prefix| line.split(' ').find_map(|word| word.strip_prefix(prefix));
    match (word("t:"), word("c:")) {
        (Some(kind), Some(code)) => format!("{kind} {code}"),
        _ => panic!("not a message: {line}"),
    }
}

fn large() -> Vec<u8> {
    (0..LARGE_BYTES).map(|index| (index % 251) as u8).collect()
}

fn file(server: &Server, content: &[u8]) -> PathBuf {
    let path = server.folder().join("content");
    std::fs::write(&path, content).expect("a file");
    path
}

#[test]
fn every_method_is_answered_as_it_was_asked() {
    let server = Server::builtin("coap");
    for (flag, answer) in [("-B 9", "ACK"), ("-N", "NON")] {
        let steps = [
            ("-m put -e new", "2.04", ""),
            ("-m get", "2.05", "new"),
            ("-m post -e newer", "2.01", ""),
            ("-m get", "2.05", "new"),
            ("-m delete", "2.02", ""),
            ("-m get", "2.05", "wirecost"),
        ];
        for (arguments, code, text) in steps {
            let answered = ask(&server, &format!("{flag} {arguments}"), "/test");
            assert_eq!(
                answered.received,
                [format!("{answer} {code}")],
                "{flag} {arguments}"
            );
            assert_eq!(answered.text(), text, "{flag} {arguments}");
        }
    }
}

#[test]
#[ignore = "needs the Python packages"]
fn impossible_requests_are_refused() {
    let server = Server::builtin("coap");
    let table = [
        ("-m get", "/nowhere", "ACK 4.04"),
        ("-m put -e x", "/separate", "ACK 4.05"),
        ("-m get -A 47", "/multi-format", "ACK 4.06"),
        // RFC 7252 section 5.4.1: odd numbers are critical.
        ("-m get -O 65001,x", "/test", "ACK 4.02"),
        ("-m get -O 65000,x", "/test", "ACK 2.05"),
    ];
    for (arguments, path, response) in table {
        let refused = ask(&server, arguments, path);
        assert_eq!(refused.received, [response], "{arguments} {path}");
    }
}

#[test]
fn a_large_representation_comes_in_the_blocks_asked_for() {
    let server = Server::builtin("coap");
    let whole = ask(&server, "-m get", "/large");
    assert_eq!((whole.body.len(), whole.count("ACK 2.05")), (1_280, 2));
    for size in [16, 32, 64, 128, 256, 512, 1_024] {
        let blocks = ask(&server, &format!("-b {size} -m get"), "/large");
        assert!(blocks.body == whole.body, "{size} B blocks");
        assert_eq!(
            blocks.count("ACK 2.05"),
            1_280_usize.div_ceil(size),
            "{size} B blocks"
        );
    }
}

#[test]
fn a_large_body_is_put_together_from_the_blocks_it_came_in() {
    let server = Server::builtin("coap");
    let content = file(&server, &large());
    for flag in ["-B 60", "-N"] {
        for size in [64, 512, 1_024] {
            let kind = if flag == "-N" { "NON" } else { "ACK" };
            ask(&server, "-m put -e small", "/large-update");
            let put = format!("{flag} -b {size} -m put -f {}", content.display());
            let stored = ask(&server, &put, "/large-update");
            let blocks = LARGE_BYTES.div_ceil(size);
            assert_eq!(stored.count(&format!("{kind} 2.31")), blocks - 1, "{put}");
            assert_eq!(stored.count(&format!("{kind} 2.04")), 1, "{put}");
            assert!(ask(&server, "-m get", "/large-update").body == large(), "{put}");
        }
    }
}

#[test]
fn a_large_post_creates_or_is_answered_in_blocks() {
    let server = Server::builtin("coap");
    let content = file(&server, &large());
    let created = ask(
        &server,
        &format!("-m post -f {}", content.display()),
        "/large-create",
    );
    assert_eq!(created.count("ACK 2.01"), 1);
    assert!(ask(&server, "-m get", "/large-create/1").body == large());
    let letters = file(&server, &b"abcdefg".repeat(300));
    let upper = ask(
        &server,
        &format!("-m post -f {}", letters.display()),
        "/large-post",
    );
    assert!(upper.body == b"ABCDEFG".repeat(300));
}

#[test]
fn a_separate_response_follows_its_empty_ack() {
    let server = Server::builtin("coap");
    // RFC 7252 section 5.2.2.
    let separate = ask(&server, "-m get", "/separate");
    assert_eq!(separate.text(), "separate");
    assert_eq!(separate.received, ["ACK 0.00", "CON 2.05"]);
    let unconfirmed = ask(&server, "-N -m get", "/separate");
    assert_eq!(unconfirmed.text(), "separate");
    assert_eq!(unconfirmed.received, ["NON 2.05"]);
}

#[test]
fn a_lost_request_is_answered_when_it_comes_again() {
    let server = Server::builtin("coap");
    // coap-client leaves out the first datagram that it should send.
    let answer = ask(&server, "-l 1 -m put -e again", "/test");
    assert_eq!(answer.received, ["ACK 2.04"]);
}

#[test]
fn resources_are_listed() {
    let server = Server::builtin("coap");
    let core = ask(&server, "-m get", "/.well-known/core");
    for link in [
        "</test>",
        "</large>;sz=1280",
        "</obs>;obs",
        "</link1>;rt=\"Type1 Type2\";if=\"If1\"",
        "</path>;ct=40",
    ] {
        assert!(
            core.text().split(',').any(|own| own == link),
            "{link} in {}",
            core.text()
        );
    }
    let filtered = ask(&server, "-m get", "/.well-known/core?if=foo");
    assert_eq!(filtered.text(), "</link3>;rt=\"Type1 Type3\";if=\"foo\"");
    assert_eq!(ask(&server, "-m get", "/query?a=1").text(), "a=1\n");
}

#[test]
fn an_observer_hears_of_changes_until_it_leaves() {
    for (path, kind) in [("/obs", "CON"), ("/obs-non", "NON")] {
        let server = Server::builtin("coap");
        let observed = std::thread::scope(|scope| {
            let observer = scope.spawn(|| ask(&server, "-m get -s 3", path));
            server.wait(|server| server.log().contains("ObserverAdded"));
            for state in ["<first>", "<second>"] {
                ask(&server, &format!("-m put -e {state}"), path);
            }
            observer.join().expect("the observer ends")
        });
        let text = observed.text();
        let (first, second) = (text.find("<first>"), text.find("<second>"));
        assert!(first.is_some() && first < second, "{path}: {text:?}");
        assert!(
            observed.count(&format!("{kind} 2.05")) >= 2,
            "{path}: {:?}",
            observed.received
        );
        server.wait(|server| server.log().contains("ObserverRemoved"));
    }
}
