//! Agents that are lost while a load runs.

use std::time::{Duration, Instant};

use crate::common::eventually;
use crate::honesty::Target;
use crate::rig::{Coordinator, Ended};

/// The bound: an agent that dies or is stopped is named within this time.
const NAMED_WITHIN: Duration = Duration::from_secs(15);
/// What the load offers.
const MESSAGES: u64 = 100 * 14;

/// Runs a load of two agents, the second of which is lost by `lose` in the middle.
/// Returns the end of the load, the messages that had arrived then, and how long after the loss that was.
fn with_loss(lose: &str) -> (Ended, u64, Duration) {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 20 -r 100/s -d 14s --agents 2"));
    let stays = coordinator.agent(&["--name", "stays"]);
    let goes = coordinator.agent(&["--name", "goes"]);
    eventually("messages arrive", || target.messages() > 150);
    let lost = Instant::now();
    goes.signal(lose);
    let ended = coordinator.end();
    let (took, arrived) = (lost.elapsed(), target.messages());
    if lose == "STOP" {
        goes.signal("CONT");
        let said = goes.end();
        assert_eq!(said.code, Some(11), "its connection has ended: {}", said.stderr);
    }
    assert_eq!(stays.end().code, Some(0));
    (ended, arrived, took)
}

fn check(ended: &Ended, arrived: u64, reason: &str) {
    assert_eq!(ended.said.code, Some(13), "{}", ended.said.stderr);
    let (outcomes, agents, lost) = (ended.outcomes(), ended.agents(), ended.lost());
    assert_eq!((agents.asked, agents.to_the_end), (2, 1));
    assert_eq!(lost.name.as_deref(), Some("goes"));
    let loss = lost.lost.expect("a loss");
    assert!(loss.reason.contains(reason), "{}", loss.reason);
    assert!(loss.last_heard_s > 1.0 && loss.last_heard_s < 14.0, "{loss:?}");
    assert!(
        loss.last_heard_s <= loss.lost_s && loss.lost_s < loss.last_heard_s + 15.0,
        "{loss:?}"
    );
    let missing = loss.missing.expect("a schedule");
    assert!(
        missing > 0 && outcomes.unknown >= loss.unreported,
        "{loss:?} {outcomes:?}"
    );
    // The other agent has offered its half, and what this one was to offer is known by its schedule.
    assert_eq!(outcomes.offered + missing, MESSAGES, "{outcomes:?} {loss:?}");
    assert!(outcomes.acknowledged >= MESSAGES / 2);
    assert!(outcomes.acknowledged <= arrived);
    assert!(arrived <= outcomes.offered, "{arrived} arrived, {outcomes:?}");
    let said = &ended.said;
    let named = format!("agent {} (goes, 127.0.0.1) was lost: ", lost.number);
    assert!(said.stderr.contains(&named), "{}", said.stderr);
    assert!(said.stdout.contains("1 of 2 to the end"), "{}", said.stdout);
    let warning = format!("{missing} that it was to offer after that are missing");
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(&warning), "{}", said.stdout);
    assert!(!ended.load().has_failed());
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_other_goes_on() {
    let (ended, arrived, _) = with_loss("KILL");
    check(&ended, arrived, "the connection has ended");
}

#[test]
fn an_agent_that_is_stopped_is_named_and_the_other_goes_on() {
    let (ended, arrived, took) = with_loss("STOP");
    check(&ended, arrived, "it has not answered for 5 s");
    // It was lost in the first half of the load, whose rest is not longer than the bound.
    assert!(took < NAMED_WITHIN + Duration::from_secs(14), "{took:?}");
}

#[test]
fn a_load_without_any_agent_left_ends() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 20 -r 200/s -d 60s --agents 2"));
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    eventually("messages arrive", || target.messages() > 100);
    let lost = Instant::now();
    agents.iter().for_each(|agent| agent.signal("KILL"));
    let ended = coordinator.end();
    assert!(lost.elapsed() < NAMED_WITHIN, "{:?}", lost.elapsed());
    assert_eq!(ended.said.code, Some(14), "{}", ended.said.stderr);
    let outcomes = ended.outcomes();
    assert!(outcomes.unknown > 0, "{outcomes:?}");
    assert_eq!(ended.agents().to_the_end, 0);
}

#[test]
fn what_a_closed_loop_no_longer_offers_is_not_known() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4 --closed-loop -d 5s --agents 2"));
    let stays = coordinator.agent(&[]);
    let goes = coordinator.agent(&[]);
    eventually("messages arrive", || target.messages() > 100);
    goes.signal("KILL");
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(13), "{}", ended.said.stderr);
    let loss = ended.lost().lost.expect("a loss");
    assert_eq!((loss.missing, loss.unreported), (None, 0));
    ended.outcomes();
    assert_eq!(stays.end().code, Some(0));
}
