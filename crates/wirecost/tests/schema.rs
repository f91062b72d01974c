//! The summary of real runs against the schema in the repository.

mod common;

use boon::{Compiler, Schemas};
use serde_json::Value;

use common::Run;

const SCHEMA: &str = include_str!("../../../schema/summary.schema.json");

#[test]
#[ignore = "needs root"]
fn the_summary_of_a_run_is_valid() {
    let runs = [
        // A cell that is not run, one without a connect, one with everything.
        "udp,tcp,mqtt5-qos2,coap-con -s 1B,70kB -n 2 --settle 200ms",
        // Every setting of a link, several links, keep-alive, a stream of messages.
        "mqtt-qos1 -n 2 --settle 300ms --keep-alive 1s --messages-per-connection 2 --interval 1500ms \
         --rtt 5ms,25ms --link-rate 1Mbit --queue 20packets --delay-variation 1ms --reorder 1% --duplicate 1% \
         --up loss=1%,queue=64kB --loss-burst 2",
        // Both engines, what they agree on and what is not run.
        "udp,tcp -s 1B,70kB -n 2 --settle 200ms --engine auto",
        // Several intervals, several messages per connection.
        "mqtt-qos1 -n 2 --engine sim --vary interval=1s,2s --vary messages-per-connection=1,3",
        // Devices that share a link, and a stack that cannot.
        "udp,coap-con,mqtt-qos1 -n 30 --engine sim --shared-link --interval 10s --spread 100ms --link-rate 100kbit \
         --queue 4packets",
        // Every start, early messages among them, and cells that cannot start so.
        "mqtt-qos1+tls1.3,http3,coap-con+dtls1.3 --start cold,resumed,0rtt -n 2 --settle 300ms",
    ];
    for arguments in runs {
        let arguments = arguments.split_whitespace().collect::<Vec<_>>().join(" ");
        let run = Run::compare(&arguments);
        let text = std::fs::read_to_string(run.file("summary.json")).expect("summary.json");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(accepts(&value), Ok(()), "{arguments}");
    }
}

#[test]
fn tables_name_every_column_of_every_csv_file() {
    let home = common::open_folder();
    let said = |line: &str| {
        let said = common::said(common::wirecost(home.path()).args(line.split_whitespace()));
        assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
        said.stdout
    };
    said("compare tcp -n 2 --engine sim -q -o comparison");
    // It has sites, and so the table of their hops.
    said(concat!(
        "run ",
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/fog.yaml -q -o load"
    ));
    said("nbiot coap-non --size 25B --load 0.5/s --seeds 1 --duration 2s --warm-up 1s -q -o nbiot");
    let described: Value = serde_json::from_str(&said("schema --tables")).expect("JSON");
    let tables = described["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 7);
    for table in tables {
        let [run, file] = ["run", "file"].map(|key| table[key].as_str().expect("a name"));
        let text = std::fs::read_to_string(home.path().join(run).join(file)).expect(file);
        let mut header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
        let columns = table["columns"].as_array().expect("columns");
        let mut named: Vec<&str> = columns
            .iter()
            .filter_map(|column| column["name"].as_str())
            .collect();
        header.sort_unstable();
        named.sort_unstable();
        assert_eq!(header, named, "{run}/{file}");
    }
}

#[test]
#[ignore = "needs root"]
fn json_prints_the_summary() {
    common::need_root();
    let home = common::open_folder();
    let arguments = [
        "compare", "--engine", "live", "udp", "-n", "2", "--settle", "200ms", "--out", "run", "--json", "-",
    ];
    let said = common::said(common::wirecost(home.path()).args(arguments));
    let printed: Value = serde_json::from_str(&said.stdout).expect("stdout holds JSON and nothing else");
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("summary.json");
    assert_eq!(printed, serde_json::from_str::<Value>(&text).expect("JSON"));
    assert_eq!(accepts(&printed), Ok(()));
}

fn accepts(value: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler.add_resource("summary.json", schema).expect("a resource");
    let index = compiler.compile("summary.json", &mut schemas).expect("a schema");
    schemas
        .validate(value, index)
        .map_err(|error| format!("{error:#}"))
}
