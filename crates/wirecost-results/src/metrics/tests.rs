use wirecost_stats::Histogram;

use super::*;
use crate::load::{Load, PhaseFigures};

fn counted() -> Interval {
    let mut interval = Interval::new(0, 0, false);
    interval.outcomes.offered = 3;
    interval.outcomes.acknowledged = 2;
    interval.sent = 3;
    interval.socket_bytes = [300, 12];
    let mut times = Histogram::new();
    times.record(90_000);
    times.record(2_000_000);
    interval.response_time = Some(times);
    interval
}

fn running() -> Metrics {
    let mut metrics = Metrics::default();
    metrics.begin("mqtt-qos1", "mqtt://\"a\\\n", 10, &["publish".into()]);
    let generator = Usage {
        cpu_share: 0.5,
        ..Usage::default()
    };
    for _ in 0..2 {
        metrics.second(0, &counted(), 10, [Some(generator), None]);
    }
    metrics
}

const LABELS: &str = r#"load="0",stack="mqtt-qos1",target="mqtt://\"a\\\n",phase="publish",phase_index="0""#;

/// The value of the one sample with this name and these labels.
fn value(text: &str, name: &str, labels: &str) -> String {
    let start = format!("{name}{{{labels}}} ");
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix(&start))
        .collect();
    assert_eq!(found.len(), 1, "{start}: {text}");
    found[0].to_owned()
}

#[test]
fn seconds_add_up() {
    let text = running().text(Format::Prometheus);
    assert_eq!(value(&text, "wirecost_messages_offered_total", LABELS), "6");
    let acknowledged = format!("{LABELS},outcome=\"acknowledged\"");
    assert_eq!(value(&text, "wirecost_messages_total", &acknowledged), "4");
    let up = format!("{LABELS},direction=\"up\"");
    assert_eq!(value(&text, "wirecost_socket_bytes_total", &up), "600");
}

#[test]
fn buckets_hold_all_that_is_below_them() {
    let text = running().text(Format::OpenMetrics);
    let bucket = |le: &str| {
        let labels = format!("{LABELS},le=\"{le}\"");
        value(&text, "wirecost_response_time_seconds_bucket", &labels)
    };
    let counts = ["0.00005", "0.0001", "0.001", "0.0025", "60.0", "+Inf"].map(bucket);
    assert_eq!(counts, ["0", "2", "2", "4", "4", "4"]);
    assert_eq!(value(&text, "wirecost_response_time_seconds_count", LABELS), "4");
    let sum: f64 = value(&text, "wirecost_response_time_seconds_sum", LABELS)
        .parse()
        .unwrap();
    assert!((sum - 0.00418).abs() < 0.00001, "{sum}");
}

#[test]
fn phases_of_one_name_stay_apart_and_warm_up_is_left_out() {
    let mut warm_up = counted();
    warm_up.warm_up = true;
    let later = Interval {
        phase: 1,
        ..counted()
    };
    let phase = |name: &str| PhaseFigures {
        name: name.into(),
        ..PhaseFigures::default()
    };
    let mut metrics = Metrics::default();
    metrics.add(
        &LoadFile {
            load: Load {
                stack: "mqtt-qos1".into(),
                target: "mqtt://\"a\\\n".into(),
                phases: vec![phase("publish"), phase("publish")],
                ..Load::default()
            },
            intervals: vec![warm_up, counted(), later],
            usage: Vec::new(),
            traffic: None,
            profile: None,
            source_addresses: Vec::new(),
            server: None,
        },
        0,
    );
    let text = metrics.text(Format::OpenMetrics);
    assert_eq!(value(&text, "wirecost_messages_offered_total", LABELS), "3");
    let second = LABELS.replace("phase_index=\"0\"", "phase_index=\"1\"");
    assert_eq!(value(&text, "wirecost_messages_offered_total", &second), "3");
}

/// OpenMetrics names a counter's family without the suffix, gives units and ends; the older text does neither.
#[test]
fn each_format_has_its_own_heads() {
    let metrics = running();
    let open = metrics.text(Format::OpenMetrics);
    assert!(open.contains("# TYPE wirecost_messages_sent counter\n"), "{open}");
    assert!(open.contains("# UNIT wirecost_socket_bytes bytes\n"), "{open}");
    assert!(open.ends_with("# EOF\n"));
    let old = metrics.text(Format::Prometheus);
    assert!(
        old.contains("# TYPE wirecost_messages_sent_total counter\n"),
        "{old}"
    );
    assert!(!old.contains("# UNIT") && !old.contains("EOF"));
}

#[test]
fn a_finished_load_has_no_connections() {
    let mut metrics = running();
    assert!(metrics.text(Format::Prometheus).contains("wirecost_connections{"));
    metrics.end();
    let text = metrics.text(Format::Prometheus);
    assert!(
        !text.contains("wirecost_connections{") && !text.contains("wirecost_cpu_ratio"),
        "{text}"
    );
    assert!(text.contains("wirecost_messages_sent_total{"));
}

#[test]
fn the_accept_header_chooses_the_format() {
    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
    assert_eq!(Format::accepted("*/*"), Format::Prometheus);
}
