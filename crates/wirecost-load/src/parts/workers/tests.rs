use std::net::{Ipv4Addr, SocketAddr};

use wirecost_link::LinkConfig;
use wirecost_scenario::options::load::roster::Roster;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Payload, Phase, Who};
use wirecost_stack::target::Target;

use super::*;
use crate::devices::destination::{Destination, Trust};

const PATIENCE: Duration = Duration::from_secs(20);

fn shares(parts: u32) -> Vec<Share> {
    let stack = "mqtt-qos1".parse().expect("a stack");
    let mut options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
    options.clients = 60;
    options.login = Some(("device".into(), "a 'secret'\n".into()));
    // More than a scenario may have, and a password with a control character.
    let rows = (0..120_000).map(|device| format!("device-{device},a password of \u{7f}{device:08}\n"));
    let csv = "user,password\n".to_owned() + &rows.collect::<String>();
    options.roster = Some(Roster::read("c.csv".into(), &csv).expect("devices"));
    options.phases = vec![Phase::Connect {
        who: Who::All,
        rate: Some(0.1),
    }];
    let destination = Destination {
        subscribers: None,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
        authority: "localhost".into(),
        trust: Trust::Foreign {
            server_name: "localhost".into(),
            authorities: None,
            psk: None,
            identities: Vec::new(),
        },
        link: None,
        mark: 0,
        classical_signatures: false,
    };
    Share::split(&Arc::new(options), &destination, parts)
}

fn in_shell(script: &str, layout: &Layout, shares: &[Share]) -> Result<Parts, WorkersError> {
    processes((Path::new("/bin/sh"), &["-c", script]), layout, shares)
}

fn layout(processes: u32, loops: u32) -> Layout {
    Layout { processes, loops }
}

fn receive(parts: &mut Parts) -> (u32, FromPart) {
    let heard = parts.receive(PATIENCE).expect("someone is there");
    heard.expect("something is said")
}

/// The command by which a shell sends the last message of a part.
fn finished(part: u32, socket_error: &str) -> String {
    let message = FromPart::Finished {
        socket_error: Some(socket_error.into()),
    };
    format!("echo '{}'", Addressed { part, message }.to_line())
}

#[test]
fn a_job_reads_back_as_its_shares() {
    let given = shares(4);
    let line = Job::from_shares(&given[1..3]).to_line();
    assert!(!line.contains('\n'));
    let read = Job::shares(&line).expect("a job");
    assert_eq!(read.len(), 2);
    for (given, read) in given[1..3].iter().zip(&read) {
        assert_eq!(given.options, read.options);
        assert_eq!((given.number, &given.devices), (read.number, &read.devices));
        assert_eq!(given.destination.address, read.destination.address);
    }
    assert!(Job::shares("{}").is_err() && Job::shares("no job").is_err());
}

#[test]
fn messages_reach_the_process_of_their_part_and_come_back() {
    let (first, second) = (finished(0, "none"), finished(1, "few"));
    let script = format!(
        r#"read job; while read order; do case "$order" in
        *'"part":0'*quit*) {first};;
        *'"part":1'*quit*) {second};;
        esac; done"#
    );
    let mut parts = in_shell(&script, &layout(2, 1), &shares(2)).expect("workers");
    assert_eq!((parts.len(), parts.pids.len()), (2, 2));
    parts.tell_all(ToPart::Quit);
    let mut finished: Vec<(u32, Option<String>)> = (0..2)
        .map(|_| match receive(&mut parts) {
            (part, FromPart::Finished { socket_error }) => (part, socket_error),
            other => panic!("{other:?}"),
        })
        .collect();
    finished.sort_unstable();
    assert_eq!(finished, [(0, Some("none".into())), (1, Some("few".into()))]);
    parts.join();
}

#[test]
fn a_part_on_a_link_sends_secrets_at_its_end() {
    let link = LinkConfig::symmetric(Duration::from_millis(10));
    for (link, capture, keys, says_them) in [
        (Some(link), true, true, true),
        // Those of the observed devices, which are in no file.
        (Some(link), true, false, true),
        (Some(link), false, true, true),
        (None, true, true, false),
    ] {
        let mut shares = shares(1);
        let options = Arc::make_mut(&mut shares[0].options);
        (options.link, options.capture, options.keys) = (link, capture, keys);
        let mut words = Vec::new();
        let line = Job::from_shares(&shares).to_line() + "\n";
        worker::run(line.as_bytes(), &mut words).expect("it ends well");
        let said = String::from_utf8(words).expect("text");
        let said = said
            .lines()
            .filter_map(Addressed::from_line)
            .map(|line| line.message);
        let said: Vec<FromPart> = said.collect();
        let places: Vec<usize> = (0..said.len())
            .filter(|at| matches!(said[*at], FromPart::AllKeys))
            .collect();
        let last_but_one = said.len() - 2;
        assert_eq!(places, vec![last_but_one; usize::from(says_them)], "{said:?}");
    }
}

#[test]
fn a_worker_that_dies_reports_its_parts_as_failed() {
    let script = format!(
        r#"read job; echo '{{"part":0,"message":"ready"}}'; {}; kill -9 $$"#,
        finished(0, "none")
    );
    let mut parts = in_shell(&script, &layout(1, 3), &shares(3)).expect("a worker");
    assert!(matches!(receive(&mut parts), (0, FromPart::Ready)));
    assert!(matches!(receive(&mut parts), (0, FromPart::Finished { .. })));
    for number in 1..3 {
        let (part, FromPart::Failed { reason }) = receive(&mut parts) else {
            panic!("a part has failed");
        };
        assert_eq!(part, number);
        assert!(reason.contains("ended during the run with signal: 9"), "{reason}");
    }
    assert!(parts.receive(PATIENCE).is_err(), "nobody is left");
    parts.join();
}

#[test]
fn a_worker_that_does_not_read_a_long_job_does_not_block() {
    let mut shares = shares(1);
    // More than a pipe holds.
    Arc::make_mut(&mut shares[0].options).payload = Payload::File(vec![7; 1 << 20].into());
    let mut parts = in_shell("exec sleep 2", &layout(1, 1), &shares).expect("a worker");
    parts.tell_all(ToPart::Quit);
    let (0, FromPart::Failed { reason }) = receive(&mut parts) else {
        panic!("its part has failed");
    };
    assert!(reason.contains("ended during the run"), "{reason}");
    parts.join();
}

#[test]
fn a_worker_that_sends_garbage_has_failed() {
    let parts = in_shell("read job; echo babble; read more", &layout(1, 1), &shares(1));
    let mut parts = parts.expect("a worker");
    let (_, FromPart::Failed { reason }) = receive(&mut parts) else {
        panic!("its part has failed");
    };
    assert!(reason.contains("sent a line that is not a message"), "{reason}");
    parts.join();
}

#[test]
fn a_worker_without_a_valid_job_reports_that() {
    let mut words = Vec::new();
    let refused = worker::run("no job\n".as_bytes(), &mut words);
    assert!(
        refused
            .expect_err("no job")
            .to_string()
            .starts_with("not a job of this version")
    );
    let nothing = worker::run("".as_bytes(), &mut words);
    assert!(matches!(nothing, Err(worker::WorkerError::NoJob(_))));
    assert!(words.is_empty());
}

#[test]
fn a_worker_runs_its_parts_and_ends_with_its_input() {
    let line = Job::from_shares(&shares(2)).to_line() + "\n";
    let mut words = Vec::new();
    worker::run(line.as_bytes(), &mut words).expect("it ends well");
    let said = String::from_utf8(words).expect("text");
    let said: Vec<Addressed<FromPart>> = said
        .lines()
        .map(|line| Addressed::from_line(line).expect("a message"))
        .collect();
    for part in 0..2 {
        let of_part: Vec<&FromPart> = said
            .iter()
            .filter(|line| line.part == part)
            .map(|line| &line.message)
            .collect();
        assert!(
            matches!(
                of_part[..],
                [
                    FromPart::Alive { .. },
                    FromPart::Ready,
                    ..,
                    FromPart::Finished { .. }
                ]
            ),
            "{of_part:?}"
        );
    }
}
