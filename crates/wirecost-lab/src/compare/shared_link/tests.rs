use std::cell::RefCell;
use std::time::Duration;

use wirecost_results::summary::Section;
use wirecost_scenario::options::compare::{Engine, LinkConfig, QueueLimit, Schedule, SharedLink as Shared};

use super::*;
use crate::compare::fixture::options;

/// 200 devices on one link, three messages each, one every ten seconds, over an uplink of 100 kbit/s.
fn shared_link(stack: &str, spread: Option<Duration>) -> Options {
    let mut link = LinkConfig::symmetric(Duration::from_millis(50));
    link.up.rate = "100kbit".parse().ok();
    link.up.queue = Some(QueueLimit::Bytes(8_192));
    Options {
        engine: Engine::Sim,
        samples: 200,
        links: vec![link],
        schedules: vec![Schedule {
            messages: 3,
            warm_up: false,
            interval: Some(Duration::from_secs(10)),
            keep_alive: None,
        }],
        shared_link: Some(Shared { spread }),
        ..options(&[stack])
    }
}

fn cell_of(options: &Options) -> Cell {
    let plan = Plan::new(options);
    let cells = RefCell::new(Vec::new());
    let pace = Pace::default();
    let taken = simulate(
        options,
        &plan,
        &[0],
        1,
        &pace,
        &mut |result| cells.borrow_mut().push(result.cell),
        &|| false,
    );
    taken.expect("cells");
    cells.into_inner().pop().expect("a cell")
}

fn dropped(cell: &Cell) -> u64 {
    let achieved = cell.link.achieved.as_ref().expect("a link that was used");
    achieved.queue_dropped_up.expect("a queue")
}

fn resent(section: &Section) -> f64 {
    section.by_cause["retransmission"].up
}

#[test]
fn devices_that_are_spread_evenly_lose_nothing() {
    for stack in ["coap-con", "mqtt-qos1"] {
        let cell = cell_of(&shared_link(stack, None));
        assert!(
            cell.valid && cell.warnings.is_empty(),
            "{stack}: {:?}",
            cell.warnings
        );
        assert_eq!(
            (cell.outcomes.offered, cell.outcomes.acknowledged),
            (600, 600),
            "{stack}"
        );
        assert_eq!(dropped(&cell), 0, "{stack}");
        let message = cell.message.expect("messages");
        assert_eq!(
            (message.samples, message.up.payload.sum),
            (600, 600 * 128),
            "{stack}"
        );
        assert_eq!(resent(&message), 0.0, "{stack}");
        assert_eq!(
            cell.connect.map(|connect| connect.samples),
            (stack != "coap-con").then_some(200)
        );
    }
}

#[test]
fn a_burst_fills_the_queue_and_dropped_messages_are_repeated() {
    for stack in ["coap-con", "mqtt-qos1"] {
        let even = cell_of(&shared_link(stack, None));
        let burst = cell_of(&shared_link(stack, Some(Duration::from_millis(500))));
        assert!(dropped(&burst) > 0, "{stack}");
        let (even, burst) = (even.message.expect("messages"), burst.message.expect("messages"));
        assert!(resent(&burst) > 0.0, "{stack}");
        let p50 = |section: &Section| section.response_time_ns.as_ref().and_then(|times| times.p50);
        assert!(p50(&burst) > p50(&even), "{stack}");
        let delay = burst.one_way_delay_ns.expect("delays");
        // 8 kB at 100 kbit/s wait 655 ms at most, plus a propagation delay of 25 ms and a packet's own time.
        assert!(
            delay.max > 600_000_000 && delay.max < 710_000_000,
            "{stack}: {}",
            delay.max
        );
    }
}

#[test]
fn a_repeated_cell_on_a_shared_link_has_the_same_result() {
    let options = shared_link("mqtt-qos1", Some(Duration::from_secs(1)));
    assert_eq!(cell_of(&options), cell_of(&options));
}

#[test]
fn a_stopped_cell_has_its_measurements_so_far() {
    let options = shared_link("coap-con", None);
    let plan = Plan::new(&options);
    let pace = Pace::default();
    pace.stop();
    let offered = RefCell::new(None);
    let mut take = |result: SharedLinkResult| *offered.borrow_mut() = Some(result.cell.outcomes.offered);
    simulate(&options, &plan, &[0], 1, &pace, &mut take, &|| false).expect("cells");
    assert_eq!(offered.into_inner(), Some(0));
}
