//! The clocks of agents.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use crate::common::{WIRECOST, need_program, need_root};
use crate::honesty::Target;
use crate::port::own_port;
use crate::rig::{Agent, Between, Coordinator};

/// A coordinator whose agents reach it after these delays up and down.
fn behind(delays: [u64; 2], arguments: &str) -> (Coordinator, Between) {
    let port = own_port();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let between = Between::start(listener, port, delays.map(Duration::from_millis));
    let coordinator = Coordinator::start_by(|command| {
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        command.args(["--join-address", &between.address.to_string()]);
        command.args(arguments.split_whitespace());
    });
    (coordinator, between)
}

#[test]
fn the_bound_of_a_clock_covers_ways_of_unequal_length() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let arguments = format!("{url} -c 4 --subscribers 2 -r 50/s -d 3s --agents 2 --clock-error-max 100ms");
    let (coordinator, _between) = behind([80, 20], &arguments);
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    let ended = coordinator.end();
    ended.ended_well();
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
    let figures = ended.agents();
    for agent in &figures.each {
        // The true offset is 0. The middle of 80 ms and 20 ms is 30 ms off.
        let (offset, error) = (agent.clock_offset_s, agent.clock_error_s);
        assert!(
            offset.abs() > 0.02 && error >= 0.03 && offset.abs() <= error,
            "{agent:?}"
        );
    }
    assert!(figures.delay_error_s.is_some_and(|error| error >= 0.06));
    assert_eq!(target.messages(), 150);
    // Delays of a millisecond are not known within 100 ms.
    let load = ended.load();
    assert!(load.phases.iter().all(|phase| phase.one_way_delay_ns.is_none()));
    assert!(
        load.warnings
            .iter()
            .any(|warning| warning.kind.name() == "delays-not-known"),
        "{}",
        ended.said.stdout
    );
}

#[test]
fn nothing_is_sent_if_a_clock_is_too_uncertain() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let arguments = format!("{url} -c 4 -r 50/s -d 1s --agents 2");
    let (coordinator, _between) = behind([20, 5], &arguments);
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(14), "{}", ended.said.stderr);
    assert!(
        ended.said.stderr.contains("and --clock-error-max is 2.0 ms"),
        "{}",
        ended.said.stderr
    );
    assert!(!ended.home.path().join("run").exists());
    assert_eq!(target.messages(), 0);
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
}

#[test]
#[ignore = "needs root"]
fn an_agent_on_a_clock_5000_s_ahead_is_found_within_its_bound() {
    need_root();
    need_program("unshare", "util-linux");
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 20 -r 200/s -d 3s --agents 2"));
    coordinator.waits();
    let mut ahead = Command::new("unshare");
    ahead.args([
        "-T",
        "--monotonic",
        "5000",
        "--fork",
        "--kill-child",
        WIRECOST,
        "agent",
        "--join",
    ]);
    ahead.arg(coordinator.join_file()).args(["--name", "ahead"]);
    let agents = [coordinator.agent(&["--name", "here"]), Agent::from_command(ahead)];
    let ended = coordinator.end();
    ended.ended_well();
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
    let figures = ended.agents();
    for agent in &figures.each {
        let is_ahead = agent.name.as_deref() == Some("ahead");
        let truth = if is_ahead { 5_000.0 } else { 0.0 };
        let off = (agent.clock_offset_s - truth).abs();
        // A number of this size has steps of less than a picosecond in 64 bits.
        assert!(
            off <= agent.clock_error_s && agent.clock_error_s < 2e-3,
            "{agent:?}"
        );
    }
    let outcomes = ended.outcomes();
    assert_eq!(
        (outcomes.offered, outcomes.acknowledged),
        (600, 600),
        "{}",
        ended.said.stdout
    );
    assert_eq!(target.messages(), 600);
    // Both offer in each second of the load, and not one after the other.
    let load = ended.load();
    let publish = load
        .phases
        .iter()
        .find(|phase| phase.name == "publish")
        .expect("messages");
    assert!(publish.begin_s < 60.0 && publish.duration_s < 60.0, "{publish:?}");
}
