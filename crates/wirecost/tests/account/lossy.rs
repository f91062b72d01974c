//! The same figures of a life where packets are lost, on the way to the device too.

use super::common::{open_folder, summary_in};
use super::{MONTH_SECONDS, TERMS, agree, json, of_choose, of_compare, of_cost, run, way_of_run};

const STACKS: [&str; 4] = [
    "coap-con+oscore",
    "coap-con+dtls1.2-psk",
    "coap-con+dtls1.2-cid",
    "mqtt-qos1+tls1.3",
];
/// The devices whose lives are simulated under loss.
const DEVICES: u32 = 20;

/// A packet that the link loses on its way to the device has entered the link: every command counts it.
#[test]
fn a_packet_that_is_lost_on_its_way_to_the_device_counts_everywhere() {
    let home = open_folder();
    let home = home.path();
    let (all, stacks) = (STACKS.join(","), STACKS.join(" "));
    let link = "--link lte-m --loss 5%";
    let asked = format!("{link} --keep-alive 1080s");
    run(
        home,
        &format!("compare -q --engine sim -n {DEVICES} --size 64B {link} {all} --out run"),
    );
    let chosen = of_choose(&json(
        home,
        &format!(
            "choose -q -n {DEVICES} --size 64B --every 1h --certificate p256 {asked} {TERMS} {stacks} --out choice"
        ),
    ));
    assert_eq!(chosen.len(), 2 * STACKS.len() - 1);
    let simulated = json(
        home,
        &format!("cost run {TERMS} --interval 1h --keep-alive 1080s"),
    );
    agree(
        "cost of a run without an interval",
        &chosen,
        &of_cost(&simulated, way_of_run),
    );
    let table = run(
        home,
        &format!(
            "compare -q --engine sim -n {DEVICES} --size 64B {asked} {all} --interval 1h --per month \
             --messages-per-connection 1,24 --out lives"
        ),
    );
    let summary = summary_in(&home.join("lives"));
    agree("compare", &chosen, &of_compare(&summary, 3_600.0));
    for cell in &summary.cells {
        let month = cell.all_in.expect("messages").each() * MONTH_SECONDS / 3_600.0;
        let text = wirecost_report::number::data(month.round() as u64);
        assert!(table.contains(&text), "{}: {text}:\n{table}", cell.stack);
    }
    let as_run = json(home, &format!("cost lives {TERMS}"));
    agree(
        "cost of a run with an interval",
        &chosen,
        &of_cost(&as_run, way_of_run),
    );
}
