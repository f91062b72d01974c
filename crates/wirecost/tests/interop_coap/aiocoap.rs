//! aiocoap walks the cases of the ETSI plugtests.

use crate::peers::{Server, python};

fn case(name: &str, expected: &[&str]) {
    let outcome = python("interop_coap/aiocoap_cases.py", &Server::builtin("coap"), name);
    assert_eq!(outcome.lines().collect::<Vec<_>>(), expected, "{name}");
}

#[test]
#[ignore = "needs the Python packages"]
fn every_method_is_answered() {
    let methods = [
        "('2.05', b'wirecost')",
        "('2.01', b'')",
        "('2.04', b'')",
        "('2.02', b'')",
    ];
    case("core", &[methods, methods].concat());
}

#[test]
#[ignore = "needs the Python packages"]
fn a_separate_response_finds_its_request() {
    case("separate", &["('2.05', b'separate')"; 2]);
}

#[test]
#[ignore = "needs the Python packages"]
fn segments_and_queries_are_distinguished() {
    case(
        "paths",
        &[
            "('2.05', b'seg3')",
            "('2.05', b'seg2')",
            "('2.05', b'seg1')",
            "('2.05', b'first=1\\nsecond=2\\n')",
            "('2.05', b'')",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn a_created_resource_says_where_it_is() {
    case(
        "location",
        &[
            "('2.01', ('first=1', 'second=2'))",
            "('2.01', ('location1', 'location2', 'location3'))",
            "('2.01', ('large-create', '1'))",
            "('2.05', b'small')",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn a_representation_comes_in_the_format_asked_for() {
    case(
        "formats",
        &[
            "('2.05', b'wirecost', 0)",
            "('2.05', b'<wirecost/>', 41)",
            "('2.05', b'\"wirecost\"', 50)",
            "('2.05', b'hwirecost', 60)",
            "('4.06', b'', None)",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn entity_tags_validate_and_guard() {
    case(
        "validate",
        &[
            "('2.05', True, '2.03', True)",
            "'2.04'",
            "'4.12'",
            "('2.05', b'other', True)",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn if_none_match_creates_once() {
    let created = ["'4.04'", "'2.01'", "'4.12'", "('2.02', b'')"];
    case("create", &[created, created, created].concat());
}

#[test]
#[ignore = "needs the Python packages"]
fn impossible_requests_are_refused() {
    case("errors", &["'4.04'", "'4.05'", "'4.02'", "'2.05'"]);
}

#[test]
#[ignore = "needs the Python packages"]
fn links_are_listed_and_filtered() {
    case(
        "links",
        &[
            "(True, True)",
            "('rt=Type1', ['/link1', '/link3'])",
            "('rt=*', ['/link1', '/link2', '/link3'])",
            "('rt=Type2', ['/link1', '/link2'])",
            "('if=If*', ['/link1', '/link2'])",
            "('if=foo', ['/link3'])",
            "('href=/link1', ['/link1'])",
            "('href=/link*', ['/link1', '/link2', '/link3'])",
            "('sz=*', ['/large', '/large-update'])",
            "('ct=40', ['/path', '/.well-known/core'])",
            "(True, b'</path/sub1>,</path/sub2>,</path/sub3>')",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn large_bodies_go_both_ways_in_blocks() {
    case(
        "blocks",
        &[
            "(1280, True)",
            "'2.04'",
            "True",
            "('2.01', ('large-create', '1'))",
            "True",
            "('2.04', True)",
            "'2.04'",
            "True",
            "'2.04'",
            "True",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn no_response_is_silence_for_the_classes_it_names() {
    let silence = "'silence'";
    case(
        "no_response",
        &[silence, silence, silence, "('2.05', b'quiet')", "'4.04'"],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn an_observer_hears_of_every_change_in_order() {
    case("observe", &["(16, True, b'mine', True)"; 2]);
}

#[test]
#[ignore = "needs the Python packages"]
fn an_observer_hears_of_a_large_change() {
    case("observe_large", &["(1280, 1280, True)"]);
}

#[test]
#[ignore = "needs the Python packages"]
fn two_resources_are_observed_at_once() {
    case("observe_pumping", &["True"; 2]);
}

#[test]
#[ignore = "needs the Python packages"]
fn an_observation_ends_with_its_resource_or_format() {
    case("observe_end", &["'4.04'", "'4.06'"]);
}

#[test]
#[ignore = "needs the Python packages"]
fn an_observation_starts_afresh() {
    case(
        "observe_afresh",
        &[
            "'4.06'",
            "('2.05', 0, True)",
            "'2.04'",
            "('2.05', b'New value', True)",
            "(b'New value', None)",
            "'2.05'",
        ],
    );
}

#[test]
#[ignore = "needs the Python packages"]
fn a_forgotten_observer_hears_nothing() {
    case("observe_reset", &["'2.04'", "True"]);
}
