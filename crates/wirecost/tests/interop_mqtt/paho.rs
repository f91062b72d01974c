//! paho-mqtt: what the command line of Mosquitto's clients cannot ask for.

use crate::alike;
use crate::peers::{Server, python};

const SCRIPT: &str = "interop_mqtt/paho_cases.py";

/// A case with our broker, whose outcome must be this.
fn ours(case: &str, expected: &[&str]) {
    let outcome = python(SCRIPT, &Server::builtin("mqtt"), case);
    assert_eq!(outcome.lines().collect::<Vec<_>>(), expected, "{case}");
}

/// A case that must also end so with Mosquitto.
fn both(case: &str, expected: &[&str]) {
    let outcome = alike(|server| python(SCRIPT, server, case));
    assert_eq!(outcome.lines().collect::<Vec<_>>(), expected, "{case}");
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn both_versions_connect() {
    both("connect", &["(0, False)", "(0, False)"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn an_empty_client_id_is_replaced() {
    both("client_id", &["(True, True)"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn quality_2_delivers_exactly_once() {
    let once = ["True", "({(2, False)}, True)"];
    both("exactly_once", &[once, once].concat());
}

/// Mosquitto counts QoS 1 and 2 apart; the standard does not (MQTT 5 section 3.1.2.11.3).
#[test]
#[ignore = "needs mosquitto-clients and the Python packages"]
fn the_receive_maximum_bounds_unacknowledged_messages() {
    ours("receive_maximum", &["['0', '1', '2', '3', '4', '5']"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_session_resumes_where_it_was() {
    let session = [
        "False",
        "(True, False, 'unacknowledged', True, 'while away', False)",
        "False",
    ];
    both("session", &[session, session].concat());
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_session_ends_when_the_client_said() {
    both("session_end", &["True", "False", "True", "False"]);
}

/// Mosquitto closes without saying why.
#[test]
#[ignore = "needs mosquitto-clients and the Python packages"]
fn a_second_client_takes_over() {
    ours("take_over", &["(142, 'taken')", "True"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn acknowledgements_have_reasons() {
    both("reason_codes", &["(16, 0)", "[0, 1, 2]", "([0], [17])", "0"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn options_of_subscriptions_are_kept() {
    both("subscription_options", &["'theirs'", "True", "False", "[77]"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_request_is_answered_at_its_response_topic() {
    both("request_response", &["([('unit', 'K')], '293', b'\\x00\\xff7')"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_will_waits_for_its_delay() {
    let will = "('gone', 'text/plain', [('k', 'v')])";
    both("will", &["True", "True", will, "'gone'"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn the_packet_limit_of_a_client_is_kept() {
    both("packet_limit", &["(50, 60)"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn topic_aliases_stand_for_their_topic() {
    both(
        "topic_alias",
        &["True", "'a/long/topic/1'", "'a/long/topic/1'", "'a/long/topic/1'"],
    );
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_topic_alias_beyond_the_limit_is_an_error() {
    both("topic_alias_beyond_limit", &["148"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_megabyte_arrives() {
    both("big", &["True", "True", "True"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn a_retained_message_lives_as_long_as_it_says() {
    both("expiry", &["('life/100', True, True)"]);
}

/// Mosquitto does not refuse No Local for a shared subscription.
#[test]
#[ignore = "needs mosquitto-clients and the Python packages"]
fn a_shared_subscription_survives_its_members() {
    ours("shared", &["(10, True)", "True", "130"]);
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and the Python packages"]
fn only_a_client_without_pings_is_dropped() {
    both("keep_alive", &["('fell', True)", "True"]);
}
