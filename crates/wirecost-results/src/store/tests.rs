use wirecost_stats::Histogram;

use super::*;
use crate::load::{Load, PhaseFigures};

fn times(nanos: &[u64]) -> Option<Histogram> {
    let mut histogram = Histogram::new();
    nanos.iter().for_each(|nanos| histogram.record(*nanos));
    Some(histogram)
}

/// A load of a connect and two seconds of messages, the first of them warm-up.
pub(crate) fn load(key: &str) -> LoadFile {
    let mut connect = Interval::new(0, 0, false);
    connect.connects.established = 2;
    connect.connect_time = times(&[5_000, 7_000]);
    let message = |second, warm_up| {
        let mut interval = Interval::new(1, second, warm_up);
        interval.outcomes.offered = 3;
        interval.outcomes.acknowledged = 2;
        interval.outcomes.unknown = 1;
        interval.response_time = times(&[1_000_000, 2_000_000]);
        interval.service_time = times(&[900_000, 1_900_000]);
        interval.schedule_lag = times(&[]);
        interval
    };
    let intervals = vec![connect, message(0, true), message(1, false)];
    let phase = |index, name: &str| {
        let of_phase = intervals.iter().filter(|interval| interval.phase == index);
        PhaseFigures {
            name: name.into(),
            begin_s: f64::from(index) * 0.5,
            measured_s: 1.0,
            ..PhaseFigures::default()
        }
        .counted(of_phase)
    };
    LoadFile {
        traffic: None,
        load: Load {
            key: key.into(),
            started_at: "2026-11-20T13:34:56Z".into(),
            stack: "mqtt-qos1".into(),
            engine: "live".into(),
            valid: true,
            phases: vec![phase(0, "connect"), phase(1, "publish")],
            ..Load::default()
        },
        intervals,
        usage: vec![UsageRow {
            phase: 1,
            span_ns: 1_000_000_000,
            ..UsageRow::default()
        }],
        profile: None,
        source_addresses: vec!["127.0.0.1".into()],
        server: Some("/usr/sbin/mosquitto 2.0.21".into()),
    }
}

fn open<'a>(folder: &'a RunFolder, earlier: Earlier) -> LoadStore<'a> {
    let heading = Heading {
        name: "a test".into(),
        command: "wirecost load".into(),
        seed: 42,
    };
    let keys = vec!["aa".into(), "bb".into()];
    LoadStore::open(folder, heading, keys, earlier, &Environment::default()).expect("a store")
}

fn summary(folder: &RunFolder) -> LoadSummary {
    folder.read_json("summary.json").expect("a summary")
}

fn scenario(folder: &RunFolder) -> &'static str {
    let scenario = "clients: 10\n";
    folder
        .write("scenario.resolved.yaml", scenario.as_bytes())
        .expect("written");
    scenario
}

#[test]
fn the_folder_can_be_read_at_any_moment() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_with(&dir.path().join("run"), &crate::folder::LOAD_FOLDERS);
    let folder = folder.expect("a folder");
    let environment = Environment::default();
    let mut store = open(&folder, Earlier::default());
    assert_eq!(
        (summary(&folder).loads.len(), summary(&folder).interrupted),
        (0, true)
    );
    store.put(&load("bb"), &environment).expect("kept");
    assert_eq!(store.missing(), [0]);
    assert_eq!(
        (summary(&folder).loads.len(), summary(&folder).interrupted),
        (1, true)
    );
    store.put(&load("aa"), &environment).expect("kept");
    let ended = store
        .finish(&environment, Vec::new(), UNIX_EPOCH)
        .expect("written");
    let keys: Vec<&str> = ended.loads.iter().map(|load| load.key.as_str()).collect();
    assert_eq!(keys, ["aa", "bb"], "in the order asked for");
    assert!(!ended.interrupted);
    assert_eq!(summary(&folder), ended);
    let entries = journal::read(&folder).expect("a journal");
    assert!(matches!(
        entries.last(),
        Some(Entry::Ended {
            interrupted: false,
            ..
        })
    ));
}

#[test]
fn only_partial_loads_are_run_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_with(&dir.path().join("run"), &crate::folder::LOAD_FOLDERS);
    let folder = folder.expect("a folder");
    let environment = Environment::default();
    let scenario = scenario(&folder);
    let mut store = open(&folder, Earlier::default());
    store.put(&load("aa"), &environment).expect("kept");
    let mut partial = load("bb");
    partial.load.interrupted = true;
    store.put(&partial, &environment).expect("kept");
    assert!(
        store
            .finish(&environment, Vec::new(), UNIX_EPOCH)
            .expect("written")
            .interrupted
    );
    let earlier = Earlier::open(&folder, scenario, false).expect("an earlier run");
    let mut store = open(&folder, earlier);
    assert_eq!(store.missing(), [1]);
    assert_eq!(
        summary(&folder).loads.len(),
        2,
        "what was measured stays until there is better"
    );
    store.put(&load("bb"), &environment).expect("kept");
    let ended = store
        .finish(&environment, Vec::new(), UNIX_EPOCH)
        .expect("written");
    assert!(!ended.interrupted && !ended.loads[1].interrupted);
}

#[test]
fn distributions_hold_what_was_measured_and_no_warm_up() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_with(&dir.path().join("run"), &crate::folder::LOAD_FOLDERS);
    let folder = folder.expect("a folder");
    let mut store = open(&folder, Earlier::default());
    store.put(&load("aa"), &Environment::default()).expect("kept");
    let entries = std::fs::read_dir(folder.file("latency")).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    let stems = ["000-0-connect", "000-1-response", "000-1-service"];
    let expected: Vec<String> = stems
        .iter()
        .flat_map(|stem| [format!("{stem}.hgrm"), format!("{stem}.hlog")])
        .collect();
    assert_eq!(names, expected);
    let log = folder.read_text("latency/000-1-response.hlog").expect("a log");
    // 2026-11-20T13:34:56Z and the half second after which the phase began.
    assert!(
        log.contains("#[StartTime: 1795181696.500 (seconds since epoch)]\n"),
        "{log}"
    );
    let rows = hlog::read(&log).expect("rows");
    assert_eq!(
        (rows.len(), rows[0].start_s, rows[0].histogram.len()),
        (1, 1.0, 2)
    );
    let lines = folder.read_text("intervals.csv").expect("rows");
    assert_eq!(lines.lines().count(), 4, "a head, and every second, warm-up too");
}

/// A second in which the warm-up ends, and one in which the phase does.
#[test]
fn a_logged_second_is_as_long_as_it_was_measured() {
    let phase = PhaseFigures {
        warm_up_s: 0.5,
        measured_s: 1.75,
        duration_s: 2.5,
        ..PhaseFigures::default()
    };
    let part = |kind, second| measured_of(&phase, kind, &Interval::new(0, second, false));
    let seconds = [0, 1, 2, 7].map(|second| part(CurveKind::Response, second));
    assert_eq!(seconds, [[0.5, 1.0], [1.0, 2.0], [2.0, 2.25], [7.0, 8.0]]);
    for kind in [CurveKind::Connect, CurveKind::Delay] {
        let last = part(kind, 2);
        assert_eq!(last, [2.0, 2.5], "{kind:?} also while the last are waited for");
    }
}

#[test]
fn the_environment_holds_source_addresses_and_servers() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_with(&dir.path().join("run"), &crate::folder::LOAD_FOLDERS);
    let folder = folder.expect("a folder");
    let mut store = open(&folder, Earlier::default());
    for key in ["aa", "bb"] {
        let mut file = load(key);
        file.load.target = "mosquitto".into();
        store.put(&file, &Environment::default()).expect("kept");
    }
    let environment: Environment = folder.read_json("env.json").expect("an environment");
    assert_eq!(environment.source_addresses, ["127.0.0.1"]);
    assert_eq!(environment.servers["mosquitto"], "/usr/sbin/mosquitto 2.0.21");
    let usage = folder.read_text("usage.csv").expect("a file");
    let rows = UsageRow::read(&usage).expect("rows");
    let loads: Vec<u64> = rows.iter().map(|row| row.load).collect();
    assert_eq!(loads, [0, 1]);
}

#[test]
fn a_load_that_is_there_twice_has_two_numbers() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_with(&dir.path().join("run"), &crate::folder::LOAD_FOLDERS);
    let folder = folder.expect("a folder");
    let (heading, environment) = (Heading::default(), Environment::default());
    let keys = vec!["aa".into(), "aa".into()];
    let mut store =
        LoadStore::open(&folder, heading, keys, Earlier::default(), &environment).expect("a store");
    for _ in 0..2 {
        store.put(&load("aa"), &environment).expect("kept");
    }
    let ended = store.finish(&environment, Vec::new(), UNIX_EPOCH);
    assert_eq!(ended.expect("written").loads.len(), 2);
    let lines = folder.read_text("intervals.csv").expect("rows");
    assert_eq!(lines.lines().filter(|line| line.starts_with("1,")).count(), 3);
}
