//! Ctrl-C at any moment keeps the counts so far.

use std::thread;
use std::time::Duration;

use crate::rig::{Loading, Target};

#[test]
fn an_interrupted_load_reports_its_counts() {
    for millis in [0, 250, 750, 1_500, 2_400] {
        let target = Target::start("mqtt-qos1");
        let url = target.url("mqtt");
        let loading = Loading::start(&format!("{url} --clients 10 --rate 1000/s --duration 10s"));
        loading.begun();
        thread::sleep(Duration::from_millis(millis));
        loading.interrupt();
        let loaded = loading.end();
        assert_eq!(loaded.code, Some(130), "after {millis} ms: {}", loaded.stderr);
        assert!(loaded.summary.interrupted, "after {millis} ms");
        // Early on there may be no load yet; what there is adds up.
        if !loaded.summary.loads.is_empty() {
            let outcomes = loaded.outcomes();
            assert!(outcomes.offered < 10_000, "{outcomes:?}");
        }
    }
}
