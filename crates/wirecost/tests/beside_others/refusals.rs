//! What a server says when it turns a client away, and what to do then.

use tempfile::TempDir;

use crate::broker::Broker;
use crate::run;

/// CONNACK of MQTT 3.1.1 with a return code (section 3.2.2.3).
const UNACCEPTABLE_VERSION: &[u8] = &[0x20, 2, 0, 1];
const NOT_AUTHORIZED: &[u8] = &[0x20, 2, 0, 5];
/// CONNACK of MQTT 5 with reason 0x9d and the property Server Reference, `other.lab:1883`.
const MOVED: &[u8] = b"\x20\x14\x00\x9d\x11\x1c\x00\x0eother.lab:1883";
/// The same with reason 0x9c and without the property.
const USE_ANOTHER: &[u8] = &[0x20, 3, 0, 0x9c, 0];

#[test]
fn a_code_of_connack_is_shown_as_on_the_wire() {
    let home = TempDir::new().expect("a folder");
    let broker = Broker::answering(NOT_AUTHORIZED);
    let mqtt = broker.url("mqtt");
    let store = format!("store {mqtt}/t postgres://127.0.0.1:1/d");
    for asked in [
        format!("probe --mqtt 3.1.1 {mqtt}/t"),
        format!("load {mqtt}/t -c 2 -n 2 -r 10/s"),
    ] {
        let said = run(home.path(), &asked);
        assert_eq!(said.code, Some(12), "{asked}: {}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(error.contains("CONNACK 5 Not authorized"), "{asked}: {error}");
        assert!(!error.contains("0x"), "{asked}: {error}");
    }
    // The store comes first, and there is none: the broker is not asked.
    assert_eq!(run(home.path(), &store).code, Some(11));
}

#[test]
fn a_version_that_is_refused_is_answered_with_the_other_one() {
    let home = TempDir::new().expect("a folder");
    let broker = Broker::answering(UNACCEPTABLE_VERSION);
    let said = run(
        home.path(),
        &format!("probe --mqtt 3.1.1 {}/t", broker.url("mqtt")),
    );
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("CONNACK 1 Unsupported Protocol Version"),
        "{error}"
    );
    assert_eq!(said.line("hint: "), Some("try --mqtt 5"));
    let load = run(
        home.path(),
        &format!("load {}/t -c 1 -n 1 -r 10/s", broker.url("mqtt")),
    );
    let hint = load.line("hint: ").expect("a way out");
    assert!(hint.contains("another version of MQTT"), "{hint}");
    let said = run(home.path(), &format!("probe --mqtt 5 {}/t", broker.url("mqtt")));
    assert_eq!(said.line("hint: "), Some("try --mqtt 3.1.1"), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("CONNACK 1 Unsupported Protocol Version"),
        "{error}"
    );
}

#[test]
fn a_reference_to_another_server_is_named() {
    let home = TempDir::new().expect("a folder");
    let moved = Broker::answering(MOVED);
    let said = run(home.path(), &format!("probe {}/t", moved.url("mqtt")));
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("sends clients to another server")
            && error.contains("CONNACK 0x9d Server moved, with a reference to \"other.lab:1883\""),
        "{error}"
    );
    assert_eq!(
        said.line("hint: "),
        Some("name the server of the reference in the URL")
    );
    let other = Broker::answering(USE_ANOTHER);
    let said = run(home.path(), &format!("probe {}/t", other.url("mqtt")));
    let error = said.line("error: ").expect("a sentence");
    assert!(error.contains("0x9c Use another server"), "{error}");
    let hint = said.line("hint: ").expect("a way out");
    assert!(hint.contains("names none"), "{hint}");
}
