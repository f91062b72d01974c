//! Captures of other programs, of either format, and the key logs that open them.

use wirecost_dissect::hosts::Hosts;
use wirecost_dissect::report::Section;
use wirecost_dissect::{Report, read_logged, table};

use crate::script::Script;

/// A key log behind its length, then a capture: its table adds up, and it can be compared with another host's. Returns whether it was read to its end and nothing
/// was left out.
pub fn capture(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let Some(len) = script.u16() else {
        return false;
    };
    let keys = String::from_utf8_lossy(script.take(len.into()));
    let Ok((reading, log)) = read_logged(script.rest(), &keys) else {
        return false;
    };
    assert_adds_up(&reading.report);
    assert!(!table(&reading.report).is_empty());
    // Equal times tell no direction, whatever the packets are.
    assert!(Hosts::compare(log.clone(), log).is_err());
    reading.fault.is_none() && reading.report.packets > 0 && reading.report.unattributed.is_empty()
}

fn assert_adds_up(report: &Report) {
    let total = &report.total;
    let sections = [&total.connect, &total.message, &total.keep_alive, &total.close];
    assert_eq!(sections.map(Section::wire).iter().sum::<u64>(), report.wire_bytes);
    let groups = report.groups.iter().map(|group| group.traffic.all.wire());
    assert_eq!(groups.sum::<u64>(), report.wire_bytes);
}
