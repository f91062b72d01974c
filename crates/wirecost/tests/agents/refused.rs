//! Agents that may not take part, and coordinators without agents.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use wirecost_load::parts::agents::agent::{self, AgentContext, AgentError};
use wirecost_load::parts::agents::join_file::JoinFile;

use crate::common::{Said, eventually, said, wirecost};
use crate::honesty::Target;
use crate::rig::{Agent, Coordinator};

/// Far longer than an agent waits for an answer.
const BOUNDED: Duration = Duration::from_secs(40);

fn is_refused(said: &Said, code: i32, sentence: &str) {
    assert_eq!(said.code, Some(code), "{}", said.stderr);
    let lines: Vec<&str> = said.stderr.lines().filter(|line| !line.is_empty()).collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("error: ") && line.contains(sentence)),
        "{}",
        said.stderr
    );
    assert!(
        lines.iter().any(|line| line.starts_with("hint: ")),
        "{}",
        said.stderr
    );
}

#[test]
fn an_agent_needs_the_secret_of_this_run_and_an_unused_name() {
    let target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4 -r 100/s -d 3s --agents 2"));
    let other_run = Coordinator::start(&format!("{url} -c 4 --agents 1"));
    let (text, others_text) = (coordinator.waits(), other_run.waits());
    let place = |text: &str, name: &str| {
        let path = coordinator.home().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let field = |text: &str, name: &str| {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value[name].as_str().expect("a text").to_owned()
    };
    // The secret of the other run, at this coordinator.
    let wrong = text.replace(&field(&text, "secret"), &field(&others_text, "secret"));
    let agent = Agent::start(&place(&wrong, "wrong"), &[]).end();
    is_refused(&agent, 12, "it does not have the secret of this run");
    // The file of the other run, whose address this coordinator has.
    let other = others_text.replace(&field(&others_text, "coordinator"), &field(&text, "coordinator"));
    let agent = Agent::start(&place(&other, "other"), &[]).end();
    is_refused(&agent, 12, "the file is of another run");
    // No join file, and none of this form.
    let agent = Agent::start(&coordinator.home().join("nowhere"), &[]).end();
    is_refused(&agent, 2, "cannot read");
    let agent = Agent::start(&place("password\n", "none"), &[]).end();
    is_refused(&agent, 2, "not a join file");
    let first = coordinator.agent(&["--name", "one"]);
    // Another version of wirecost.
    let file = JoinFile::read(&text).expect("a join file");
    let context = AgentContext {
        version: "0.0.9",
        name: None,
        interrupted: &|| false,
        note: &mut |_| {},
    };
    let refused = agent::run(&file, context).expect_err("another version");
    let AgentError::Refused(reason) = &refused else {
        panic!("{refused}");
    };
    assert!(
        reason
            .as_str()
            .contains("it is wirecost 0.0.9, and the coordinator is "),
        "{refused}"
    );
    // The name of an agent that is there.
    eventually("the first agent is there", || {
        let double = Agent::start(&coordinator.join_file(), &["--name", "one"]).end();
        double.code == Some(12)
            && double
                .stderr
                .contains("agent 1 (one, 127.0.0.1) has the same name")
    });
    let kept = place(&text, "kept");
    let second = Agent::start(&kept, &["--name", "two"]);
    coordinator.begun();
    // A copy of the join file, after all of its agents have come.
    let late = Agent::start(&kept, &["--name", "three"]).end();
    is_refused(&late, 12, "the join file has been used by all of its agents");
    let ended = coordinator.end();
    ended.ended_well();
    assert_eq!(ended.agents().to_the_end, 2);
    assert!(
        ended.said.stderr.contains("an agent at 127.0.0.1 was refused: "),
        "{}",
        ended.said.stderr
    );
    [first, second]
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
    // After the run the coordinator does not answer.
    is_refused(&Agent::start(&kept, &[]).end(), 11, "does not answer");
    other_run.signal("INT");
    other_run.end();
}

#[test]
fn a_coordinator_names_who_is_missing() {
    let coordinator = Coordinator::start("mqtt://127.0.0.1:1 -c 4 --agents 3 --agents-wait 6s");
    let agents = [coordinator.agent(&["--name", "here"]), coordinator.agent(&[])];
    let ended = coordinator.end();
    is_refused(&ended.said, 11, "2 of 3 agents came (agent 1 (");
    assert!(
        ended.said.stderr.contains("within 6 s: agent 3 is missing"),
        "{}",
        ended.said.stderr
    );
    assert!(!ended.home.path().join("run").exists() && !ended.home.path().join("join.token").exists());
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
}

#[test]
fn a_coordinator_that_does_not_answer_is_not_waited_for_long() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let home = tempfile::TempDir::new().expect("a folder");
    let path = home.path().join("join.token");
    let digits = "0".repeat(64);
    let text = format!(
        "{{\"coordinator\":\"{address}\",\"certificate_sha256\":\"{digits}\",\"secret\":\"{digits}\"}}\n"
    );
    fs::write(&path, text).expect("a file");
    let began = Instant::now();
    is_refused(
        &Agent::start(&path, &[]).end(),
        11,
        "does not answer: nothing has come for 10 s",
    );
    assert!(began.elapsed() < BOUNDED);
    drop(listener);
    is_refused(&Agent::start(&path, &[]).end(), 11, "does not answer");
}

#[test]
fn strangers_do_not_keep_a_coordinator_from_its_agents() {
    use std::io::Write as _;
    let target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4 -r 100/s -d 1s --agents 1"));
    let text = coordinator.waits();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let address = value["coordinator"].as_str().expect("an address");
    let mut strangers: Vec<std::net::TcpStream> = (0..20)
        .map(|_| std::net::TcpStream::connect(address).expect("a connection"))
        .collect();
    for stranger in strangers.iter_mut().take(10) {
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("bytes");
    }
    let agent = coordinator.agent(&[]);
    let ended = coordinator.end();
    ended.ended_well();
    let figures = ended.agents();
    assert_eq!(
        (figures.to_the_end, figures.begun_within_s, figures.delay_error_s),
        (1, None, None)
    );
    assert_eq!(agent.end().code, Some(0));
}

#[test]
fn idle_connections_do_not_take_the_places_of_agents() {
    let target = Target::start("mqtt-qos1");
    let coordinator = Coordinator::start(&format!("{} -c 4 -r 100/s -d 1s --agents 2", target.url("mqtt")));
    let text = coordinator.waits();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let address = value["coordinator"].as_str().expect("an address");
    let idle: Vec<std::net::TcpStream> = (0..100)
        .map(|_| std::net::TcpStream::connect(address).expect("a connection"))
        .collect();
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    coordinator.end().ended_well();
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
    drop(idle);
}

#[test]
fn loads_that_agents_cannot_run_are_refused_before_anybody_waits() {
    let home = tempfile::TempDir::new().expect("a folder");
    let refused = |arguments: &str, code: i32, sentence: &str| {
        let mut command = wirecost(home.path());
        command
            .args(["load", "-r", "10/s", "-c", "4"])
            .args(arguments.split(' '));
        is_refused(&said(&mut command), code, sentence);
        assert!(
            fs::read_dir(home.path()).expect("a folder").next().is_none(),
            "{arguments}"
        );
    };
    let listen = "--listen 127.0.0.1:0";
    refused(
        &format!("mqtt-qos1 --agents 2 {listen}"),
        2,
        "a target that they can reach",
    );
    refused(
        &format!("mqtt://a --agents 2 {listen} --rtt 5ms"),
        2,
        "an emulated link",
    );
    refused(
        &format!("mqtt://a --agents 2 {listen} --processes 2"),
        2,
        "an agent is one process",
    );
    refused(
        "mqtt://a --agents 2 --listen 0.0.0.0:0",
        2,
        "agents cannot dial 0.0.0.0",
    );
    refused(
        "mqtt://a --agents 2 --listen 192.0.2.1:7700",
        10,
        "cannot listen for agents on 192.0.2.1:7700",
    );
    let join_file = home.path().join("join.token");
    fs::write(&join_file, "").expect("a file");
    let mut command = wirecost(home.path());
    let said = said(command.args([
        "load",
        "mqtt://a",
        "-r",
        "10/s",
        "-c",
        "4",
        "--agents",
        "2",
        "--listen",
        "127.0.0.1:0",
    ]));
    is_refused(&said, 2, "join.token is there already");
    assert!(join_file.exists(), "it belongs to somebody else");
}
