//! Which ways to use a connection are rows, and what becomes of them behind translators and servers that close.

use serde_json::Value;
use wirecost_results::Summary;

use super::{bytes_of, choose, chosen, rows};
use crate::common::{open_folder, said, wirecost};

/// What `--keep-alive 1080s` costs is a row, which has the figures of the comparison with that keep-alive.
#[test]
fn the_longest_keep_alive_that_the_link_allows_is_a_row() {
    let home = open_folder();
    let asked = "amqp-unsettled+tls1.3,mqtt-qos1+tls1.3 --every 15min --size 64B --link lte-m --start cold --certificate p256";
    let choice = chosen(home.path(), &format!("{asked} --out run"));
    let kept = |choice: &Value, stack: &str| -> Vec<Value> {
        let kept = |row: &&Value| row["stack"] == stack && row["connection"] != "a connection each";
        rows(choice).iter().filter(kept).cloned().collect()
    };
    let mqtt = kept(&choice, "mqtt-qos1+tls1.3");
    let names: Vec<&Value> = mqtt.iter().map(|row| &row["connection"]).collect();
    assert_eq!(
        names,
        [
            "persistent for 96, keep-alive 18 min",
            "persistent for 96, keep-alive 1 min"
        ]
    );
    // Heartbeats of AMQP follow the container (AMQP 1.0 section 2.4.5).
    assert_eq!(kept(&choice, "amqp-unsettled+tls1.3").len(), 1);
    let notes = rows(&choice).iter().filter_map(|row| row["note"].as_str());
    assert!(notes.into_iter().all(|note| !note.contains("--keep-alive")));

    let alone = chosen(home.path(), &format!("{asked} --keep-alive 1080s --out alone"));
    assert_eq!(bytes_of(&mqtt[0]), bytes_of(&kept(&alone, "mqtt-qos1+tls1.3")[0]));
    let compare = "compare mqtt-qos1+tls1.3 --engine sim --size 64B --link lte-m --interval 15min --messages-per-connection 96 \
                   --keep-alive 1080s --out compared -q";
    let compared = said(wirecost(home.path()).args(compare.split_whitespace()));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let summary = std::fs::read_to_string(home.path().join("compared/summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&summary).expect("a summary");
    let all_in = summary.cells[0].all_in().expect("all-in bytes").each();
    assert!(
        (all_in
            - mqtt[0]["figures"]["bytes_per_reading"]["mean"]
                .as_f64()
                .expect("bytes"))
        .abs()
            < 2.0
    );
}

/// OSCORE with a given context has no connect; behind EDHOC it has one, and with it both ways to use a connection.
#[test]
fn a_handshake_of_edhoc_is_a_row_where_it_is_asked_for() {
    let home = open_folder();
    let asked = "coap-con+oscore,coap-con+dtls1.2-cid --every 15min --size 64B --rtt 50ms --start cold,edhoc,edhoc-by-value";
    let choice = chosen(home.path(), &format!("{asked} --out run"));
    let of = |stack: &str, start: &str| -> Vec<Value> {
        let is_it = |row: &&Value| row["stack"] == stack && row["start"] == start;
        rows(&choice).iter().filter(is_it).cloned().collect()
    };
    let each = |start: &str| -> f64 {
        let rows = of("coap-con+oscore", start);
        let mut each = rows.iter().filter(|row| row["connection"] == "a connection each");
        bytes_of(each.next().expect(start))
    };
    let given = bytes_of(&of("coap-con+oscore", "cold")[0]);
    // A connect, and the option of message_3.
    assert_eq!((each("edhoc") - given).round(), 197.0);
    assert_eq!((each("edhoc-by-value") - given).round(), 402.0);
    assert!(
        of("coap-con+dtls1.2-cid", "edhoc")
            .iter()
            .all(|row| row["figures"].is_null())
    );
}

/// A public broker sends a chain of two certificates. DTLS has its own leaf, as before.
#[test]
fn unless_certificates_are_asked_for_tls_has_those_of_a_public_broker() {
    let home = open_folder();
    let asked = "mqtt-qos1+tls1.3,coap-con+dtls1.3,coap-con+oscore --every 12h --rtt 50ms --start cold --keep-alive 0s";
    let said = choose(
        home.path(),
        &format!("{asked} -n 2 -q --json public.json --out public"),
    );
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "TLS with the chain letsencrypt-ecdsa (p256) of a public broker and x25519, DTLS with a p256 leaf",
        "certificates of TLS: letsencrypt-ecdsa, 1000 B (assumed) and 699 B; --certificate p256 is a leaf",
    ] {
        assert!(
            words.contains(expected),
            "{expected}: {}{}",
            said.stdout,
            said.stderr
        );
    }
    let text = std::fs::read_to_string(home.path().join("public.json")).expect("JSON");
    let public: Value = serde_json::from_str(&text).expect("JSON");
    let handshake = &public["handshake"];
    assert_eq!(
        (
            &handshake["chain"],
            &handshake["certificate"],
            &handshake["dtls_leaf"]
        ),
        (&"letsencrypt-ecdsa".into(), &"p256".into(), &true.into())
    );
    let sizes = handshake["certificates"].as_array().expect("a chain").iter();
    let sizes: Vec<(u64, bool)> = sizes
        .filter_map(|one| Some((one["bytes"].as_u64()?, one["is_assumed"].as_bool()?)))
        .collect();
    assert_eq!(sizes, [(1_000, true), (699, false)]);
    let private = chosen(home.path(), &format!("{asked} --certificate p256 --out private"));
    let each = |choice: &Value, stack: &str| -> f64 {
        let is_each = |row: &&Value| row["stack"] == stack && row["connection"] != "persistent for 2";
        bytes_of(rows(choice).iter().find(is_each).expect("a row"))
    };
    let more = |stack: &str| each(&public, stack) - each(&private, stack);
    // 1,699 B of certificates for one of 395 B, and the header of a second segment with its acknowledgement.
    assert!(
        (1_300.0..1_450.0).contains(&more("mqtt-qos1+tls1.3")),
        "{}",
        more("mqtt-qos1+tls1.3")
    );
    assert_eq!((more("coap-con+dtls1.3"), more("coap-con+oscore")), (0.0, 0.0));
    // Where nothing has certificates of TLS, nothing is said of them.
    let said = choose(
        home.path(),
        "coap-con+oscore --every 12h --rtt 50ms -n 1 -q --out none",
    );
    assert!(
        said.code == Some(0) && !said.stdout.contains("certificates of TLS"),
        "{}",
        said.stdout
    );
    let text = std::fs::read_to_string(home.path().join("none/choice.json")).expect("JSON");
    let none: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(none["handshake"], Value::Null);
}

/// Each start that a stack can is a way; `--start` restricts them, and a batch is compared by the reading.
#[test]
fn starts_and_batches_are_ways() {
    let home = open_folder();
    let asked = "mqtt-qos1+tls1.3,coap-con+oscore --every 6h --rtt 50ms --keep-alive 60s";
    let starts = |choice: &Value, stack: &str| -> Vec<String> {
        let of_stack = |row: &&Value| row["stack"] == stack && row["connection"] != "persistent for 4";
        let starts = rows(choice).iter().filter(of_stack);
        starts
            .map(|row| row["start"].as_str().expect("a start").to_owned())
            .collect()
    };
    let choice = chosen(home.path(), &format!("{asked} --out all"));
    let mut all = starts(&choice, "mqtt-qos1+tls1.3");
    all.sort();
    assert_eq!(all, ["0rtt", "cold", "resumed"]);
    assert_eq!(starts(&choice, "coap-con+oscore"), ["cold"]);
    let resumed = chosen(
        home.path(),
        &format!("{asked} --start resumed --delivery at-most-once --out resumed"),
    );
    assert_eq!(starts(&resumed, "mqtt-qos1+tls1.3"), ["resumed"]);

    let choice = chosen(
        home.path(),
        "coap-con --every 10min --rtt 40ms --readings 1,4 --tariff per-mb --device nrf9160-lte-m --within 50min --out batch",
    );
    let [batch, single] = rows(&choice) else {
        panic!("{choice}")
    };
    assert_eq!(
        (&batch["connection"], &single["connection"]),
        (
            &"no connection, 4 a message".into(),
            &"no connection, 1 a message".into()
        )
    );
    assert!(bytes_of(batch) < bytes_of(single));
    let month = |row: &Value| row["figures"]["bytes_per_month"].as_f64().expect("bytes");
    let ratio = |of: &dyn Fn(&Value) -> f64| of(batch) / of(single);
    let exact = |row: &Value| {
        row["figures"]["bytes_per_reading"]["mean"]
            .as_f64()
            .expect("bytes")
    };
    assert!(
        (ratio(&month) - ratio(&exact)).abs() < 1e-9,
        "a reading has the same number of followers in both"
    );
    // The first reading waits for three others, and for the device.
    let parts = &batch["figures"]["time_parts_s"];
    assert_eq!(
        (parts["wait"].as_f64(), parts["wake"].as_f64()),
        (Some(1_800.0), Some(1.5))
    );
    assert!(batch["figures"]["time_s"].as_f64().expect("a time") > 1_801.5);
}

/// The bytes of a reading on the kept connections of each stack.
fn kept(choice: &Value) -> Vec<(String, f64)> {
    let kept = rows(choice).iter().filter(|row| {
        let way = row["connection"].as_str().expect("a way");
        way.starts_with("persistent")
    });
    kept.map(|row| {
        let bytes = row["figures"]["bytes_per_reading"]["mean"].as_f64();
        (row["stack"].to_string(), bytes.expect("bytes"))
    })
    .collect()
}

/// RFC 9146 section 1: without a connection ID, another port is the end of a session of DTLS.
#[test]
fn behind_a_nat_that_gives_another_port_a_connection_id_pays_off() {
    let home = open_folder();
    let stacks = "coap-con+dtls1.2-psk,coap-con+dtls1.3,coap-con+dtls1.2-cid --size 64B --every 15min --link lte-m --start cold";
    let new = kept(&chosen(home.path(), &format!("{stacks} --out new")));
    let same = kept(&chosen(
        home.path(),
        &format!("{stacks} --nat same-port --out same"),
    ));
    let order =
        |kept: &[(String, f64)]| -> Vec<String> { kept.iter().map(|(name, _)| name.clone()).collect() };
    let quoted = |names: [&str; 3]| names.map(|name| format!("\"{name}\""));
    let [psk, dtls13, cid] = ["coap-con+dtls1.2-psk", "coap-con+dtls1.3", "coap-con+dtls1.2-cid"];
    assert_eq!(order(&new), quoted([cid, psk, dtls13]));
    assert_eq!(order(&same), quoted([psk, dtls13, cid]));
    assert_eq!(new[0].1, same[2].1, "a connection ID costs the same behind both");
    assert!(new[1].1 > 3.0 * same[0].1 && new[2].1 > 10.0 * same[1].1);
    // The assumption is below the table, and what it does to whom.
    let said = choose(home.path(), &format!("{stacks} -n 2 --out again"));
    let said_in_one_line = said.stdout.replace("\n  ", " ");
    let assumed =
        "NAT: binding time-out 1 min for UDP and 20 min for TCP; a later UDP packet gets another port";
    assert!(said_in_one_line.contains(assumed), "{}", said.stdout);
    let note = "coap-con+dtls1.2-psk, coap-con+dtls1.3: the NAT gives another port between two readings";
    assert!(said_in_one_line.contains(note), "{}", said.stdout);
}

#[test]
fn a_reading_that_meets_the_servers_close_arrives_on_a_new_connection() {
    let home = open_folder();
    let asked = "http1+tls1.3 --reach http --size 60B --every 75s --link lte --loss 2%";
    let choice = chosen(home.path(), &format!("{asked} --out close"));
    for row in rows(&choice) {
        assert_eq!(row["figures"]["readings_lost"], 0, "{row}");
        assert_eq!(row["fails"], serde_json::json!([]), "{row}");
    }
    let page = std::fs::read_to_string(home.path().join("close/choice.md")).expect("a page");
    assert!(page.contains("the server closes after 75 s"), "{page}");
}
