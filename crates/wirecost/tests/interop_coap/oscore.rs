//! aiocoap walks the cases of the OSCORE interoperability tests (TEST_0 to 17) and of Californium's plugtest checker
//! (OC01 to OC03).

use crate::peers::{Server, own_port, python};

/// The contexts of the tests, as the server names them: without and with an ID context, and that of the checker.
const AB: &str = ":01:0102030405060708090a0b0c0d0e0f10:9e7ca92223786340";
const CD: &str = ":01:0102030405060708090a0b0c0d0e0f10:9e7ca92223786340:37cbf3210017a2d3";
const CHECKER: &str = "01:02:0102030405060708090a0b0c0d0e0f10:9e7ca92223786340:37cbf3210017a2d3";

fn case(name: &str, expected: &[&str]) {
    let contexts = ["--oscore", CD, "--oscore", AB, "--oscore", CHECKER];
    let server = Server::builtin_with("coap", own_port(), &contexts);
    let outcome = python("interop_coap/oscore_cases.py", &server, name);
    assert_eq!(outcome.lines().collect::<Vec<_>>(), expected, "{name}");
}

#[test]
#[ignore = "needs the Python packages"]
fn protected_resources_answer_in_every_context() {
    let hello = "('2.05', [('CONTENT_FORMAT', '')], b'Hello World!')";
    case(
        "hello",
        &[
            hello,
            hello,
            hello,
            "('2.05', [('ETAG', '2b'), ('CONTENT_FORMAT', '')], b'Hello World!')",
            "('2.05', [('CONTENT_FORMAT', ''), ('MAX_AGE', '05')], b'Hello World!')",
            hello,
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn a_protected_observation_takes_its_steps_and_ends() {
    let steps = [
        "(b'one', True)",
        "('2.05', b'two')",
        "('5.00', b'Terminate Observe')",
    ];
    case("observe", &steps);
}

#[test]
#[ignore = "needs the Python packages"]
fn every_method_is_answered_under_protection() {
    case(
        "methods",
        &[
            "('2.04', [('CONTENT_FORMAT', '')], b'J')",
            "('2.04', [], b'')",
            "('4.12', [], b'')",
            "('2.02', [], b'')",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn requests_outside_the_context_are_refused_unprotected() {
    case(
        "errors",
        &[
            "('unprotected', '4.01')",
            "('unprotected', '4.00')",
            "('invalid',)",
            "'2.05'",
            "('unprotected', '4.01')",
            "'4.01'",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn a_server_without_contexts_calls_oscore_a_bad_option() {
    let server = Server::builtin("coap");
    let outcome = python("interop_coap/oscore_cases.py", &server, "without");
    assert_eq!(outcome.trim(), "('unprotected', '4.02')");
}

#[test]
#[ignore = "needs the Python packages"]
fn a_client_that_lost_its_context_has_it_derived_again() {
    case(
        "derived_again",
        &[
            "('OC01', True, True, True)",
            "('OC02', '2.02')",
            "('OC03', True)",
            "('request 1 that changes something', '4.01')",
            "('after a repeated request 2', b'Hello, OSCORE!')",
            "('a repeated request', '4.01')",
        ],
    );
}
