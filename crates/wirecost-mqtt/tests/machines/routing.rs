//! Which sessions get a message, and with which properties (sections 3.3.4, 4.7 and 4.8).

use std::time::Duration;

use crate::harness::*;
use wirecost_mqtt::broker::Command;
use wirecost_mqtt::client::PublishTemplate;
use wirecost_mqtt::codec::properties::Variable;
use wirecost_mqtt::codec::{Binary, RetainHandling};
use wirecost_mqtt::codec::{Connect, Property, Publish, SubscriptionOptions, Version};
use wirecost_mqtt::quality::{Delivery, QoS};

const QOS0: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtMostOnce);
const QOS1: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtLeastOnce);
const QOS2: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::ExactlyOnce);

/// [MQTT-3.8.4-8]
#[test]
fn a_message_has_the_lower_of_both_qos() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a", QOS1);
    harness.publish(0, message("a", "0"));
    for delivery in [Delivery::AtLeastOnce(id(7)), Delivery::ExactlyOnce(id(8))] {
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", "x")
            },
        );
    }
    assert_eq!(harness.received(0), ["puback 7 0x00", "pubrec 8 0x00"]);
    assert_eq!(harness.received(1), ["a=0", "a=x qos1 1", "a=x qos1 2"]);
}

#[test]
fn wildcards_match_and_dollar_topics_hide_from_them() {
    let mut harness = BrokerHarness::two();
    harness.join(2, "other");
    for filter in ["#", "+/b", "$SYS/+"] {
        harness.subscribe(1, filter, QOS0);
    }
    harness.subscribe(2, "a/#", QOS0);
    for topic in ["a", "a/b", "a/b/c", "b"] {
        harness.publish(0, message(topic, ""));
    }
    for topic in ["$SYS/b", "$SYS/b/c"] {
        let template = PublishTemplate::new(topic, QoS::AtMostOnce, *b"").expect("a message");
        harness.command(Command::Publish(template.into()));
    }
    assert_eq!(harness.received(1), ["a=", "a/b=", "a/b/c=", "b=", "$SYS/b="]);
    assert_eq!(harness.received(2), ["a=", "a/b=", "a/b/c="]);
}

/// [MQTT-3.3.4-2], [MQTT-3.3.4-4]
#[test]
fn overlapping_subscriptions_deliver_one_copy_at_the_highest_qos() {
    let mut harness = BrokerHarness::two();
    for (filter, options, number) in [("a/#", QOS2, 5), ("a/+", QOS0, 6)] {
        let identifier = properties([Property::SubscriptionIdentifier(Variable(number))]);
        harness.subscribe_with(1, filter, options, identifier.as_properties());
    }
    harness.received(1);
    let delivery = Delivery::ExactlyOnce(id(1));
    harness.publish(
        0,
        Publish {
            delivery,
            ..message("a/b", "x")
        },
    );
    let received = harness.received(1);
    assert_eq!(received.len(), 1);
    assert!(received[0].starts_with("a/b=x qos2 1 "));
    for number in [5, 6] {
        let identifier = format!("SubscriptionIdentifier(Variable({number}))");
        assert!(received[0].contains(&identifier), "{received:?}");
    }
}

/// [MQTT-3.8.3-3]
#[test]
fn no_local_excludes_a_clients_own_messages() {
    let mut harness = BrokerHarness::two();
    let no_local = SubscriptionOptions {
        no_local: true,
        ..QOS0
    };
    harness.subscribe(0, "a", no_local);
    harness.subscribe(1, "a", no_local);
    harness.publish(0, message("a", "x"));
    assert!(harness.received(0).is_empty());
    assert_eq!(harness.received(1), ["a=x"]);
}

#[test]
fn a_shared_subscription_takes_turns_among_online_members() {
    let mut harness = BrokerHarness::two();
    harness.join(2, "second");
    for flow in [1, 2] {
        harness.subscribe(flow, "$share/g/a", QOS0);
    }
    for payload in ["1", "2", "3", "4"] {
        harness.publish(0, message("a", payload));
    }
    assert_eq!(harness.received(1), ["a=1", "a=3"]);
    assert_eq!(harness.received(2), ["a=2", "a=4"]);
    harness.lose(1);
    harness.publish(0, message("a", "5"));
    harness.publish(0, message("a", "6"));
    assert_eq!(harness.received(2), ["a=5", "a=6"]);
    harness.unsubscribe(2, "$share/g/a");
    harness.publish(0, message("a", "7"));
    assert_eq!(harness.received(2), ["unsuback [00]"]);
}

#[test]
fn unsubscribing_ends_delivery_and_reports_missing_subscriptions() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a/+", QOS0);
    harness.unsubscribe(1, "a/+");
    harness.unsubscribe(1, "a/+");
    harness.publish(0, message("a/b", "x"));
    assert_eq!(harness.received(1), ["unsuback [00]", "unsuback [11]"]);
}

/// Section 3.3.2.3: which properties are forwarded.
#[test]
fn properties_go_to_the_subscriber_in_their_order() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a", QOS0);
    let sent = [
        Property::UserProperty(text("k"), text("1")),
        Property::PayloadFormatIndicator(1),
        Property::ContentType(text("c")),
        Property::ResponseTopic(text("r")),
        Property::CorrelationData(Binary::new(b"d").expect("short")),
        Property::UserProperty(text("k"), text("2")),
    ];
    let all = properties(sent);
    harness.publish(
        0,
        Publish {
            properties: all.as_properties(),
            ..message("a", "x")
        },
    );
    let expected: String = sent.iter().map(|property| format!(" {property:?}")).collect();
    assert_eq!(harness.received(1), [format!("a=x{expected}")]);
}

#[test]
fn mqtt_3_1_1_clients_get_no_properties_and_no_reason_codes() {
    let mut harness = BrokerHarness::two();
    let old = Connect {
        version: Version::V3_1_1,
        ..hello("old")
    };
    harness.connect(2, old);
    harness.subscribe(2, "a", QOS1);
    harness.received(2);
    let all = properties([Property::MessageExpiryInterval(9)]);
    harness.publish(
        0,
        Publish {
            properties: all.as_properties(),
            ..message("a", "x")
        },
    );
    let delivery = Delivery::AtLeastOnce(id(3));
    harness.publish(
        2,
        Publish {
            delivery,
            ..message("nobody", "x")
        },
    );
    assert_eq!(harness.received(2), ["a=x", "puback 3 0x00"]);
}

/// [MQTT-3.3.1-5] to [MQTT-3.3.1-8]
#[test]
fn the_last_retained_message_goes_to_new_subscribers() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "early", QOS0);
    for (topic, payload) in [
        ("early", "live"),
        ("a/1", "old"),
        ("a/1", "new"),
        ("a/2", "two"),
        ("a/2", ""),
    ] {
        harness.publish(
            0,
            Publish {
                retain: true,
                ..message(topic, payload)
            },
        );
    }
    assert_eq!(
        harness.received(1),
        ["early=live"],
        "the flag is cleared for those who were there"
    );
    harness.subscribe(1, "a/+", QOS1);
    harness.subscribe(1, "a/1", QOS1);
    assert_eq!(harness.received(1), ["a/1=new retain", "a/1=new retain"]);
    assert_eq!(harness.broker.retained(), 2);
    harness.subscribe(1, "$share/g/a/1", QOS1);
    assert!(harness.received(1).is_empty(), "a shared subscription gets none");
}

/// Section 3.8.3.1
#[test]
fn retain_handling_and_retain_as_published() {
    let mut harness = BrokerHarness::two();
    harness.publish(
        0,
        Publish {
            retain: true,
            ..message("a", "x")
        },
    );
    let handling = |retain_handling| SubscriptionOptions {
        retain_handling,
        ..QOS0
    };
    harness.subscribe(1, "a", handling(RetainHandling::Never));
    assert!(harness.received(1).is_empty());
    harness.subscribe(1, "a", handling(RetainHandling::IfNew));
    assert!(harness.received(1).is_empty(), "the subscription was there");
    harness.unsubscribe(1, "a");
    harness.subscribe(1, "a", handling(RetainHandling::IfNew));
    assert_eq!(harness.received(1), ["unsuback [00]", "a=x retain"]);
    let as_published = SubscriptionOptions {
        retain_as_published: true,
        ..handling(RetainHandling::Never)
    };
    harness.subscribe(1, "a", as_published);
    harness.publish(
        0,
        Publish {
            retain: true,
            ..message("a", "y")
        },
    );
    harness.publish(0, message("a", "z"));
    assert_eq!(harness.received(1), ["a=y retain", "a=z"]);
}

/// [MQTT-3.3.2-5], [MQTT-3.3.2-6]
#[test]
fn a_message_expires_and_its_interval_decreases() {
    let mut harness = BrokerHarness::two();
    let expiry = properties([Property::MessageExpiryInterval(10)]);
    let retained = Publish {
        retain: true,
        properties: expiry.as_properties(),
        ..message("a", "x")
    };
    harness.publish(0, retained);
    harness.wait(4);
    harness.subscribe(1, "a", QOS0);
    assert_eq!(harness.received(1), ["a=x retain MessageExpiryInterval(6)"]);
    harness.wait_for(Duration::from_millis(500));
    harness.subscribe(1, "a", QOS0);
    let received = ["a=x retain MessageExpiryInterval(6)"];
    assert_eq!(harness.received(1), received, "5.5 s, rounded up");
    harness.wait_for(Duration::from_millis(5_500));
    harness.subscribe(1, "a", QOS0);
    assert!(harness.received(1).is_empty());
}

/// [MQTT-3.3.1-3]
#[test]
fn dup_of_the_publisher_is_not_passed_on() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a", QOS1);
    let delivery = Delivery::AtLeastOnce(id(1));
    harness.publish(
        0,
        Publish {
            delivery,
            dup: true,
            ..message("a", "x")
        },
    );
    assert_eq!(harness.received(1), ["a=x qos1 1"]);
}

/// [MQTT-3.8.4-3]
#[test]
fn a_second_subscription_to_a_filter_replaces_the_first() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a", QOS1);
    harness.subscribe(1, "a", QOS0);
    let delivery = Delivery::AtLeastOnce(id(1));
    harness.publish(
        0,
        Publish {
            delivery,
            ..message("a", "x")
        },
    );
    assert_eq!(harness.received(1), ["a=x"]);
}
