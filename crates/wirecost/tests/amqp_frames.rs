//! The largest frame of AMQP: in comparisons and loads.

mod common;

use common::{compared, open_folder, said, wirecost};

/// What AMQP adds to a payload of 10 kB on its way to the server.
fn added(options: &str) -> f64 {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args([
        "compare",
        "amqp-unsettled",
        "--engine",
        "sim",
        "-n",
        "1",
        "--size",
        "10kB",
    ]);
    command.args(["-q", "--out", "run"]);
    command.args(options.split_whitespace());
    let summary = compared(&said(&mut command), &home.path().join("run"));
    let message = summary.cells[0].message.as_ref().expect("a message");
    message.up.application.mean
}

#[test]
fn a_message_is_as_many_transfers_as_its_frames_need() {
    let [one, five, twenty] = ["", "--amqp-frame-size 2100B", "--amqp-frame-size 512B"].map(added);
    // Five frames of at most 2,100 B, and 21 of 512 B: a further one has the 8 B of a frame and its performative of transfer.
    let each = (five - one) / 4.0;
    assert!((15.0..=40.0).contains(&each), "{one} {five}");
    let more = (twenty - one) / each;
    assert!((19.0..=22.0).contains(&more), "{one} {five} {twenty}");
}

#[test]
fn a_size_of_frames_is_refused_where_it_does_nothing() {
    for (arguments, expected) in [
        ("compare mqtt-qos1 --amqp-frame-size 2kB", "mqtt-qos1 is not AMQP"),
        (
            "compare amqp-unsettled --amqp-frame-size 100B",
            "must be 512B to 1000000B",
        ),
        (
            "compare amqp-unsettled --target rabbitmq --amqp-frame-size 2kB",
            "leave out the target",
        ),
        (
            "load mqtt-qos1 --engine sim --amqp-frame-size 2kB",
            "mqtt-qos1 is not AMQP",
        ),
        (
            "load amqp://127.0.0.1 --amqp-frame-size 2kB",
            "leave out the target",
        ),
    ] {
        let home = open_folder();
        let refused = said(wirecost(home.path()).args(arguments.split(' ')));
        assert_eq!(refused.code, Some(2), "{arguments}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(expected),
            "{arguments}: {}",
            refused.stderr
        );
    }
}
