//! Agents share a load.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::common::{WIRECOST, need_program, open_folder, wirecost};
use crate::honesty::Target;
use crate::rig::{Agent, Coordinator};

#[test]
fn two_agents_send_what_the_target_counts() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 21 -r 300/s -d 3s --agents 2"));
    coordinator.waits();
    let mode = fs::metadata(coordinator.join_file())
        .expect("the join file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let agents = [coordinator.agent(&["--name", "one"]), coordinator.agent(&[])];
    coordinator.begun();
    assert!(!coordinator.join_file().exists(), "all agents have come");
    let ended = coordinator.end();
    ended.ended_well();
    for agent in agents {
        let said = agent.end();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let (load, outcomes) = (ended.load(), ended.outcomes());
    let sent: u64 = load.phases.iter().map(|phase| phase.sent).sum();
    assert_eq!((outcomes.offered, outcomes.acknowledged), (900, 900));
    assert_eq!((sent, target.messages()), (900, 900));
    let figures = ended.agents();
    assert_eq!((figures.asked, figures.to_the_end, figures.each.len()), (2, 2, 2));
    let clients: Vec<u64> = figures.each.iter().map(|agent| agent.clients).collect();
    assert_eq!(clients.iter().sum::<u64>(), 21);
    assert!(clients.iter().all(|clients| *clients >= 10), "{clients:?}");
    let names: Vec<Option<&str>> = figures.each.iter().map(|agent| agent.name.as_deref()).collect();
    assert!(names.contains(&Some("one")) && names.contains(&None), "{names:?}");
    for agent in &figures.each {
        // Both have the clock of this machine.
        let error = agent.clock_error_s;
        assert!(agent.clock_offset_s.abs() <= error && error < 2e-3, "{agent:?}");
        assert!(agent.clock_exchanges >= 64, "{agent:?}");
        assert!(
            agent
                .clock_drift_ppm
                .zip(agent.clock_drift_error_ppm)
                .is_some_and(|(ppm, error)| ppm.abs() <= error)
        );
    }
    assert!(figures.begun_within_s.is_some_and(|within| within > 0.0));
    let connects = load.phases.iter().map(|phase| phase.connects.established);
    assert_eq!(connects.sum::<u64>(), 21);
    assert!(
        ended
            .said
            .stderr
            .contains("waiting for 2 agents: wirecost agent --join join.token")
    );
    assert!(ended.said.stderr.contains("CPU"), "{}", ended.said.stderr);
    let shown = ended.said.stdout;
    assert!(shown.contains("2 of 2 to the end; begun within "), "{shown}");
    assert!(
        load.generator
            .is_some_and(|used| used.user_s + used.system_s > 0.0 && used.processes == 2)
    );
    assert!(load.wire_not_counted.is_some());
}

#[test]
fn agents_stay_for_all_loads_of_a_run() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4,8 -r 100/s -d 1s --agents 2"));
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    let ended = coordinator.end();
    for agent in agents {
        assert_eq!(agent.end().code, Some(0));
    }
    let summary = ended.summary();
    let clients: Vec<u64> = summary.loads.iter().map(|load| load.clients).collect();
    assert_eq!(clients, [4, 8]);
    for load in &summary.loads {
        let agents = load.agents.as_ref().expect("agents");
        assert!(agents.are_whole());
        assert_eq!(
            agents.each.iter().map(|agent| agent.clients).sum::<u64>(),
            load.clients
        );
    }
    assert_eq!(target.messages(), 200);
}

#[test]
fn agents_run_the_loads_of_a_scenario() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let home = open_folder();
    let scenario = format!(
        "wirecost: 1\ntarget: {url}\nclients: 6\nphases:\n  - {{do: publish, rate: 100/s, duration: 1s}}\n"
    );
    fs::write(home.path().join("a.yaml"), scenario).expect("a file");
    let mut command = wirecost(home.path());
    let arguments = "run a.yaml --json summary.json --out run --agents 2 --listen 127.0.0.1:0";
    command.args(arguments.split(' '));
    let coordinator = Coordinator::from_command(command, home);
    coordinator.waits();
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    let ended = coordinator.end();
    for agent in agents {
        assert_eq!(agent.end().code, Some(0));
    }
    ended.ended_well();
    let clients = ended.agents().each.iter().map(|agent| agent.clients).sum::<u64>();
    assert_eq!(
        (clients, ended.outcomes().acknowledged, target.messages()),
        (6, 100, 100)
    );
}

#[test]
fn a_coordinator_that_is_interrupted_dismisses_its_agents() {
    let target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4 -r 100/s -d 60s --agents 2"));
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    coordinator.begun();
    coordinator.signal("INT");
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(130), "{}", ended.said.stderr);
    for agent in agents {
        let said = agent.end();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
}

#[test]
fn a_coordinator_that_is_interrupted_while_it_waits_dismisses_its_agents() {
    let coordinator = Coordinator::start("mqtt://127.0.0.1:1 -c 4 --agents 2");
    let agent = coordinator.agent(&[]);
    coordinator.signal("INT");
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(130), "{}", ended.said.stderr);
    assert!(!ended.home.path().join("join.token").exists());
    assert!(!ended.home.path().join("run").exists(), "nothing was measured");
    // Whether it had been let in already, or came when the token had gone, is a matter of time.
    let code = agent.end().code;
    assert!(matches!(code, Some(0 | 2 | 11)), "{code:?}");
}

#[test]
fn agents_end_with_a_coordinator_that_was_killed() {
    let target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let coordinator = Coordinator::start(&format!("{url} -c 4 -r 100/s -d 60s --agents 2"));
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    coordinator.begun();
    coordinator.signal("KILL");
    for agent in agents {
        let said = agent.end();
        assert_eq!(said.code, Some(11), "{}", said.stderr);
        assert!(said.stderr.contains("has gone"), "{}", said.stderr);
    }
    coordinator.end();
}

#[test]
fn a_target_that_is_not_there_is_named_as_without_agents() {
    let coordinator = Coordinator::start("mqtt://127.0.0.1:1 -c 4 -r 100/s -d 2s --agents 2");
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(11), "{}", ended.said.stderr);
    assert!(
        ended.said.stderr.contains("no device could connect"),
        "{}",
        ended.said.stderr
    );
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
}

#[test]
fn agents_that_have_no_cpu_left_make_the_load_invalid() {
    need_program("taskset", "util-linux");
    let target = Target::start("mqtt-qos0");
    let url = target.url("mqtt");
    let arguments =
        format!("{url} --qos 0 -c 40 -r 400000/s -d 2s --timeout 2s --i-own-this-target --agents 2");
    let coordinator = Coordinator::start(&arguments);
    coordinator.waits();
    let on_one_cpu = || {
        let mut command = Command::new("taskset");
        command
            .args(["-c", "0", WIRECOST, "agent", "--join"])
            .arg(coordinator.join_file());
        Agent::from_command(command)
    };
    let agents = [on_one_cpu(), on_one_cpu()];
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(14), "{}", ended.said.stderr);
    let load = ended.load();
    assert!(!load.valid);
    assert_eq!(
        load.bottleneck.map(|found| found.who).as_deref(),
        Some("generator")
    );
    assert!(ended.said.stdout.contains("INVALID"), "{}", ended.said.stdout);
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
}
