//! The time of a connect is there where anything was exchanged for it.

use std::fs;

use crate::common::open_folder;
use crate::{is_whole, load, summary};

#[test]
fn only_connects_with_an_exchange_have_a_time() {
    for (stack, connects) in [("coap-con", false), ("coap-con+dtls1.3", true)] {
        let home = open_folder();
        let said = load(home.path(), &format!("{stack} -c 3 -r 100/s -n 30 -o run"));
        assert!(is_whole(&said), "{stack}: {:?} {}", said.code, said.stderr);
        let summary = summary(&home.path().join("run"));
        let connect = &summary.loads[0].phases[0];
        assert_eq!(
            (connect.name.as_str(), connect.connects.established),
            ("connect", 3)
        );
        assert_eq!(connect.connect_time_ns.is_some(), connects, "{stack}");
        let file = home.path().join("run/latency/000-0-connect.hgrm");
        assert_eq!(file.exists(), connects, "{stack}");
        let report = fs::read_to_string(home.path().join("run/report.html")).expect("a report");
        for text in [&said.stdout, &report] {
            assert!(
                connects || !text.contains("connect begun until it may send"),
                "{text}"
            );
        }
    }
}
