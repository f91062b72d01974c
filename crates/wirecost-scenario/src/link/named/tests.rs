use std::time::Duration;

use super::*;

fn found(name: &str) -> NamedLink {
    NamedLink::find(name, None).expect(name)
}

#[test]
fn every_value_of_a_named_link_has_source_and_date() {
    for link in NamedLink::all().expect("links") {
        assert!(!link.about.is_empty() && !link.values.is_empty(), "{}", link.name);
        for value in &link.values {
            let about = format!("{} {}", link.name, value.key);
            assert!(
                value.source.as_ref().is_some_and(|text| !text.is_empty()),
                "{about}"
            );
            assert!(
                value
                    .date
                    .as_ref()
                    .is_some_and(|date| date.starts_with(['1', '2'])),
                "{about}"
            );
        }
    }
}

#[test]
fn a_named_link_has_the_values_of_its_file() {
    let link = *found("3g").link();
    assert_eq!(link.rtt(), Duration::from_millis(300));
    let rates = [link.up, link.down].map(|way| way.rate.map(|rate| rate.bits_per_second()));
    assert_eq!(rates, [Some(768_000), Some(1_600_000)]);
    let times = found("lte")
        .values
        .into_iter()
        .filter(|value| value.key.starts_with("nat_timeout."));
    assert_eq!(
        times.map(|value| value.value).collect::<Vec<_>>(),
        ["60s", "20min"]
    );
    let lossy = found("lossy").link().up.loss;
    assert!((lossy.rate() - 0.05).abs() < 1e-12, "{lossy:?}");
}

#[test]
fn an_unknown_link_is_answered_with_the_nearest() {
    let said = |name| NamedLink::find(name, None).expect_err(name).to_string();
    assert!(
        said("etthernet").starts_with("unknown link \"etthernet\" (did you mean ethernet?"),
        "{}",
        said("etthernet")
    );
    assert!(
        said("pigeon").contains("\"pigeon\"; the links are ethernet, wifi"),
        "{}",
        said("pigeon")
    );
    assert_eq!(said("no.yaml"), "cannot read no.yaml: no files can be read here");
}

#[test]
fn the_case_of_a_name_does_not_matter() {
    for (given, name) in [("NB-IoT", "nb-iot"), ("NBIoT", "nbiot"), ("ltem", "lte-m")] {
        assert_eq!(found(given), found(name), "{given}");
    }
}

#[test]
fn a_file_of_a_link_takes_values_with_or_without_sources() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| std::fs::write(folder.path().join("my.yaml"), text).expect("a file");
    write("rtt: {value: 40ms, source: mine}\nup: {loss: 2%}\n");
    let link = NamedLink::find("my.yaml", Some(folder.path())).expect("a link");
    assert_eq!(link.link().rtt(), Duration::from_millis(40));
    assert_eq!(link.link().up.loss.rate(), 0.02);
    let keys: Vec<&str> = link.values.iter().map(|value| value.key.as_str()).collect();
    assert_eq!(keys, ["rtt", "up.loss"]);
    for (text, expected) in [
        ("rtt: {valeu: 40ms}\n", "my.yaml:1: unknown key \"rtt.valeu\""),
        ("about: x\nrtt: 40\n", "my.yaml:2: rtt: \"40\" has no unit"),
        (
            "rtt: [1ms, 2ms]\n",
            "my.yaml:1: rtt must be a table of keys and values, this is a list",
        ),
        ("latency: 1ms\n", "my.yaml:1: unknown key \"latency\""),
        (
            "nat_timeout: {udp: 60}\n",
            "my.yaml:1: nat_timeout.udp: \"60\" has no unit",
        ),
        (
            "nat_timeout: {sctp: 60s}\n",
            "my.yaml:1: unknown key \"nat_timeout.sctp\"",
        ),
        ("mtu: 20B\n", "my.yaml:1: link up: mtu must be at least 68B"),
    ] {
        write(text);
        let error = NamedLink::find("my.yaml", Some(folder.path()))
            .expect_err(text)
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
