//! Bills of three tariffs, recomputed in another language from the packets of a capture and the tariff files alone.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common;

use super::{assert_near, number, open_folder, rows};

/// Enough devices to leave the free tiers.
const DEVICES: u32 = 20_000;

#[test]
#[ignore = "needs tshark"]
fn three_bills_follow_from_a_capture_and_their_files() {
    let home = open_folder();
    // 5,050 B: with its topic a reading is two units of 5,000 B, and one of 5,120 B.
    let line = "compare mqtt-qos1 -n 1 --size 5050B --engine sim --rtt 40ms --interval 2min --keep-alive 25s \
                --messages-per-connection 5 -q --out run";
    let made = common::said(common::wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let capture = home.path().join("run/capture/sim.pcapng");
    let by_hand = Command::new("python3")
        .arg(root.join("tests/cost/bills.py"))
        .arg(&capture)
        .args(["10.77.0.2", &DEVICES.to_string()])
        .arg(root.join("../../tariffs"))
        .output()
        .expect("python3 starts");
    let said = String::from_utf8_lossy(&by_hand.stderr);
    assert!(by_hand.status.success(), "{said}");
    let by_hand: Value = serde_json::from_slice(&by_hand.stdout).expect("JSON");
    for (tariff, charged) in [
        ("aws-iot-core", "charged_messages"),
        ("clearblade", "charged_bytes"),
        ("soracom-plan01s", "charged_bytes"),
    ] {
        let asked =
            format!("run/capture/sim.pcapng --client 10.77.0.2 --tariff {tariff} --devices {DEVICES}");
        let row = &rows(home.path(), &asked)[0];
        let bill = &row["bill"];
        let of = |key: &str| number(&by_hand[tariff][key]);
        assert!(of("money") > 0.0, "{tariff}");
        assert_near(number(&bill[charged]), of("charged"));
        assert_near(number(&bill["fleet_amount"]), of("money"));
        let other = &by_hand[format!("{tariff} with 1024")]["money"];
        if let Some(other) = other.as_f64() {
            assert!(other < of("money"));
            let ours = number(&bill["amount_with_kilobytes_of_1024"]);
            assert_near(ours * f64::from(DEVICES), other);
        }
    }
}
