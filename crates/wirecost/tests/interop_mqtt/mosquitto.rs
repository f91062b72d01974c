//! mosquitto_pub and mosquitto_sub.

use std::time::Duration;

use crate::alike;
use crate::peers::Server;
use crate::subscriber::{Subscriber, publish, publish_lines, subscribe};

const VERSIONS: [&str; 2] = ["mqttv311", "mqttv5"];
const MOMENT: Duration = Duration::from_millis(500);

#[test]
#[ignore = "needs mosquitto-clients"]
fn every_size_arrives_at_every_quality_of_service() {
    let server = Server::builtin("mqtt");
    for version in VERSIONS {
        let subscriber = Subscriber::start(&server, "%q %l %x", &format!("-V {version} -q 2 -t sizes"));
        for quality in 0..3 {
            for size in [0, 1, 128, 100_000] {
                publish_bytes(&server, &format!("-V {version} -q {quality} -t sizes"), size);
                let expected = format!("{quality} {size} {}", "a5".repeat(size));
                assert!(
                    subscriber.message() == expected,
                    "{version} QoS {quality} {size} B"
                );
            }
        }
    }
}

fn publish_bytes(server: &Server, arguments: &str, size: usize) {
    if size == 0 {
        return publish(server, &format!("{arguments} -n"));
    }
    let file = server.folder().join("payload");
    std::fs::write(&file, vec![0xa5; size]).expect("a file");
    publish(server, &format!("{arguments} -f {}", file.display()));
}

/// MQTT 3.1.1 section 3.8.4: the lower of both qualities counts.
#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn the_subscription_limits_the_quality_of_service() {
    let delivered = alike(|server| {
        let subscribers =
            [0, 1, 2].map(|quality| Subscriber::start(server, "%q", &format!("-q {quality} -t a")));
        [0, 1, 2].map(|quality| {
            publish(server, &format!("-q {quality} -t a -m x"));
            subscribers.each_ref().map(Subscriber::message)
        })
    });
    assert_eq!(delivered, [["0", "0", "0"], ["0", "1", "1"], ["0", "1", "2"]]);
}

#[test]
#[ignore = "needs mosquitto-clients"]
fn a_thousand_messages_of_quality_2_arrive_once_and_in_order() {
    for version in VERSIONS {
        let server = Server::builtin("mqtt");
        let subscriber = Subscriber::start(&server, "%q %p", &format!("-V {version} -q 2 -t many"));
        let lines: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        publish_lines(&server, &format!("-V {version} -q 2 -t many"), &lines);
        publish(&server, "-q 2 -t many -m end");
        let expected: Vec<String> = lines.iter().map(|line| format!("2 {line}")).collect();
        assert_eq!(subscriber.messages_until("2 end"), expected, "{version}");
    }
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn filters_choose_topics_as_mosquitto_does() {
    const FILTERS: [&str; 8] = ["a/+", "a/#", "#", "+", "+/+", "a/+/c", "/+", "$test/#"];
    const TOPICS: [&str; 8] = ["a", "a/b", "a/b/c", "/a", "a/", "b/b", "a//c", "$test/a"];
    let chosen = alike(|server| {
        let subscribers =
            FILTERS.map(|filter| Subscriber::start(server, "%t", &format!("-t {filter} -t end")));
        for topic in TOPICS.into_iter().chain(["end"]) {
            publish(server, &format!("-t {topic} -m x"));
        }
        // Two filters of one client match "end", where one of them is "#" or "+": it may come twice.
        subscribers
            .each_ref()
            .map(|subscriber| subscriber.messages_until("end"))
    });
    // MQTT 3.1.1 sections 4.7.1 and 4.7.2.
    assert_eq!(chosen[0], ["a/b", "a/"]);
    assert_eq!(chosen[1], ["a", "a/b", "a/b/c", "a/", "a//c"]);
    assert_eq!(chosen[2].len(), 7);
    assert_eq!(chosen[5], ["a/b/c", "a//c"]);
    assert_eq!(chosen[7], ["$test/a"]);
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_retained_message_waits_until_it_is_replaced_or_removed() {
    for version in VERSIONS {
        let seen = alike(|server| {
            let look = || {
                let arguments = format!("-V {version} -q 1 -t r/+ -t end");
                let subscriber = Subscriber::start(server, "%r %q %t %p", &arguments);
                publish(server, "-q 1 -t end -m x");
                subscriber.messages_until("0 1 end x")
            };
            let put = |arguments: &str| publish(server, &format!("-V {version} -r -t r/1 {arguments}"));
            let nothing = look();
            put("-q 1 -m first");
            let first = look();
            put("-q 0 -m second");
            let second = look();
            put("-n");
            [nothing, first, second, look()]
        });
        assert_eq!(seen[0], [""; 0], "{version}");
        assert_eq!(seen[1], ["1 1 r/1 first"], "{version}");
        assert_eq!(seen[2], ["1 0 r/1 second"], "{version}");
        assert_eq!(seen[3], [""; 0], "{version}");
    }
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_session_keeps_messages_for_a_client_that_is_away() {
    for version in VERSIONS {
        let kept = alike(|server| {
            let session = format!("-V {version} -c -i away -q 2 -t kept");
            subscribe(server, &format!("{session} -E"));
            for quality in [0, 1, 2] {
                publish(
                    server,
                    &format!("-V {version} -q {quality} -t kept -m q{quality}"),
                );
            }
            let subscriber = Subscriber::connect(server, "%q %p", &session);
            let kept = subscriber.messages(2);
            publish(server, "-t kept -m live -q 1");
            (kept, subscriber.message())
        });
        // Mosquitto keeps nothing of QoS 0, and the standard allows either (MQTT 3.1.1 section 4.1).
        assert_eq!(
            kept,
            (vec!["1 q1".into(), "2 q2".into()], "1 live".into()),
            "{version}"
        );
    }
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_clean_session_forgets() {
    let after = alike(|server| {
        subscribe(server, "-c -i forgetful -q 1 -t kept -E");
        publish(server, "-q 1 -t kept -m x");
        subscribe(server, "-i forgetful -q 1 -t other -E");
        let subscriber = Subscriber::start(server, "%p", "-c -i forgetful -q 1 -t other");
        publish(server, "-q 1 -t kept -m y");
        publish(server, "-q 1 -t other -m end");
        subscriber.messages_until("end")
    });
    assert_eq!(after, [""; 0]);
}

#[test]
#[ignore = "needs mosquitto-clients"]
fn each_message_goes_to_one_of_a_shared_subscription() {
    let server = Server::builtin("mqtt");
    let group = ["a", "b", "c"].map(|id| {
        Subscriber::start(
            &server,
            "%p",
            &format!("-i {id} -V mqttv5 -q 1 -t $share/g/work -t end"),
        )
    });
    let alone = Subscriber::start(&server, "%p", "-q 1 -t work -t end");
    let lines: Vec<String> = (10..40).map(|number| number.to_string()).collect();
    publish_lines(&server, "-q 1 -t work", &lines);
    publish(&server, "-q 1 -t end -m end");
    assert_eq!(alone.messages_until("end"), lines);
    let shares = group.each_ref().map(|member| member.messages_until("end"));
    assert!(shares.iter().all(|share| !share.is_empty()), "{shares:?}");
    let mut all = shares.concat();
    all.sort();
    assert_eq!(all, lines);
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn an_expired_message_is_not_delivered_and_others_have_the_rest() {
    let (queued, retained) = alike(|server| {
        let session = "-V mqttv5 -c -i late -q 1 -t expiring";
        subscribe(server, &format!("{session} -E"));
        for (seconds, name) in [(1, "short"), (100, "long")] {
            let expiry = format!("-V mqttv5 -q 1 -D publish message-expiry-interval {seconds} -m {name}");
            publish(server, &format!("{expiry} -t expiring"));
            publish(server, &format!("{expiry} -r -t keep/{name}"));
        }
        std::thread::sleep(Duration::from_millis(2_500));
        let life = |subscriber: &Subscriber| {
            let message = subscriber.message();
            let (name, rest) = message.split_once(' ').expect("two words");
            let rest: u32 = rest.parse().expect("seconds");
            (name.to_owned(), (90..=98).contains(&rest))
        };
        let queued = life(&Subscriber::connect(server, "%p %E", session));
        let retained = life(&Subscriber::start(server, "%p %E", "-V mqttv5 -t keep/#"));
        (queued, retained)
    });
    assert_eq!(queued, ("long".into(), true));
    assert_eq!(retained, ("long".into(), true));
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn properties_of_a_message_arrive_with_it() {
    let seen = alike(|server| {
        let subscriber = Subscriber::start(server, "%P %R %D %C %F", "-V mqttv5 -t p");
        publish(
            server,
            "-V mqttv5 -t p -m x -D publish user-property k1 v1 -D publish user-property k2 v2 \
             -D publish response-topic answers/1 -D publish correlation-data 0815 \
             -D publish content-type text/plain -D publish payload-format-indicator 1",
        );
        subscriber.message()
    });
    assert_eq!(seen, "k1:v1 k2:v2 answers/1 0815 text/plain 1");
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_client_of_3_1_1_gets_messages_of_5_and_the_other_way_round() {
    let seen = alike(|server| {
        let old = Subscriber::start(server, "%q %p", "-V mqttv311 -q 2 -t mixed");
        let new = Subscriber::start(server, "%q %p", "-V mqttv5 -q 2 -t mixed");
        publish(
            server,
            "-V mqttv5 -q 2 -t mixed -m five -D publish user-property k v",
        );
        let first = [old.message(), new.message()];
        publish(server, "-V mqttv311 -q 1 -t mixed -m four");
        [first, [old.message(), new.message()]]
    });
    assert_eq!(seen, [["2 five", "2 five"], ["1 four", "1 four"]]);
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_message_above_the_clients_packet_limit_is_not_sent_to_it() {
    let seen = alike(|server| {
        let small = Subscriber::start(
            server,
            "%l",
            "-V mqttv5 -q 1 -t size -D connect maximum-packet-size 200",
        );
        let any = Subscriber::start(server, "%l", "-V mqttv5 -q 1 -t size");
        for size in [100, 1_000, 10] {
            publish_bytes(server, "-V mqttv5 -q 1 -t size", size);
        }
        (small.messages(2), any.messages(3))
    });
    assert_eq!(seen.0, ["100", "10"]);
    assert_eq!(seen.1, ["100", "1000", "10"]);
}

const WILL: &str = "--will-topic will --will-payload gone --will-qos 1";

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn the_will_of_a_killed_client_is_published() {
    for version in VERSIONS {
        let wills = alike(|server| {
            let watcher = Subscriber::start(server, "%q %p", &format!("-V {version} -q 1 -t will"));
            let client = Subscriber::start(server, "%p", &format!("-V {version} -t x {WILL}"));
            client.signal("KILL");
            watcher.message()
        });
        assert_eq!(wills, "1 gone", "{version}");
    }
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn the_will_of_a_client_that_says_goodbye_is_not_published() {
    for version in VERSIONS {
        let is_silent = alike(|server| {
            let watcher = Subscriber::start(server, "%q %p", &format!("-V {version} -q 1 -t will"));
            let mut client = Subscriber::start(server, "%p", &format!("-V {version} -C 1 -t x {WILL}"));
            publish(server, "-t x -m go");
            client.wait();
            watcher.is_silent_for(MOMENT)
        });
        assert!(is_silent, "{version}");
    }
}

/// MQTT 5 section 3.14.2.1: reason code 0x04, which mosquitto_sub gives when it is terminated.
#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_client_of_5_may_say_goodbye_and_have_its_will_published() {
    let seen = alike(|server| {
        let watcher = Subscriber::start(server, "%q %p", "-V mqttv5 -q 1 -t will");
        let client = Subscriber::start(server, "%p", &format!("-V mqttv5 -t x {WILL}"));
        client.signal("TERM");
        watcher.message()
    });
    assert_eq!(seen, "1 gone");
}

#[test]
#[ignore = "needs mosquitto and mosquitto-clients"]
fn a_retained_will_waits_for_subscribers() {
    let seen = alike(|server| {
        let watcher = Subscriber::start(server, "%r %p", "-t will");
        let client = Subscriber::start(server, "%p", &format!("-t x {WILL} --will-retain"));
        client.signal("KILL");
        let first = watcher.message();
        (first, Subscriber::start(server, "%r %p", "-t will").message())
    });
    assert_eq!(seen, ("0 gone".into(), "1 gone".into()));
}

/// MQTT 3.1.1 section 3.1.2.10: one and a half times the keep-alive, here 7.5 s.
#[test]
#[ignore = "needs mosquitto-clients"]
fn a_client_that_falls_silent_is_dropped_and_its_will_published() {
    let server = Server::builtin("mqtt");
    let watcher = Subscriber::start(&server, "%p", "-t will");
    let silent = Subscriber::start(&server, "%p", &format!("-k 5 -t x {WILL}"));
    let alive = Subscriber::start(&server, "%p", "-k 5 -t x --will-topic will --will-payload wrong");
    silent.signal("STOP");
    assert_eq!(watcher.message(), "gone");
    assert!(
        watcher.is_silent_for(Duration::from_secs(2)),
        "a client that pings was dropped"
    );
    publish(&server, "-t x -m still-here");
    assert_eq!(alive.message(), "still-here");
}
