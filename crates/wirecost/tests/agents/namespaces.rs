//! Agents in network namespaces of their own, with the target in a third one.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::{WIRECOST, eventually, need_program, need_root, open_folder};
use crate::rig::{Agent, Coordinator};

/// How many networks the tests have made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Three namespaces on one bridge, which is in the third. They go with this value.
struct Net {
    prefix: String,
}

impl Net {
    fn make() -> Self {
        need_root();
        need_program("ip", "iproute2");
        let net = Self {
            prefix: format!(
                "wcag{}-{}",
                std::process::id(),
                MADE.fetch_add(1, Ordering::SeqCst)
            ),
        };
        let hub = net.name(3);
        ip(&["netns", "add", &hub]);
        ip(&["-n", &hub, "link", "add", "hub", "type", "bridge"]);
        ip(&["-n", &hub, "addr", "add", "10.79.0.3/24", "dev", "hub"]);
        ip(&["-n", &hub, "link", "set", "hub", "up"]);
        ip(&["-n", &hub, "link", "set", "lo", "up"]);
        for number in 1..=2 {
            let (own, port) = (net.name(number), format!("port{number}"));
            ip(&["netns", "add", &own]);
            ip(&[
                "-n", &own, "link", "add", "eth0", "type", "veth", "peer", "name", &port, "netns", &hub,
            ]);
            ip(&["-n", &hub, "link", "set", &port, "master", "hub", "up"]);
            ip(&[
                "-n",
                &own,
                "addr",
                "add",
                &format!("10.79.0.{number}/24"),
                "dev",
                "eth0",
            ]);
            ip(&["-n", &own, "link", "set", "eth0", "up"]);
            ip(&["-n", &own, "link", "set", "lo", "up"]);
        }
        net
    }

    fn name(&self, number: u32) -> String {
        format!("{}-{number}", self.prefix)
    }

    /// A command in a namespace.
    fn command(&self, number: u32, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(number), program]);
        command
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for number in 1..=3 {
            // One that could not be made is not there.
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(number)])
                .status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "ip {}",
        arguments.join(" ")
    );
}

struct Broker(Child);

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root and iproute2"]
fn agents_in_two_namespaces_load_a_broker_in_a_third_one() {
    let net = Net::make();
    let mut broker = net.command(3, WIRECOST);
    broker.args(["serve", "mqtt", "--listen", "10.79.0.3:1883", "--open", "-q"]);
    let _broker = Broker(broker.stdin(Stdio::null()).spawn().expect("a broker"));
    let home = open_folder();
    let mut command = net.command(3, WIRECOST);
    command.current_dir(home.path()).stdin(Stdio::null());
    command.args([
        "load",
        "mqtt://10.79.0.3",
        "-c",
        "20",
        "--subscribers",
        "2",
        "-r",
        "200/s",
        "-d",
        "4s",
    ]);
    command.args([
        "--i-own-this-target",
        "--agents",
        "2",
        "--listen",
        "10.79.0.3:7700",
    ]);
    command.args(["--json", "summary.json", "--out", "run"]);
    let coordinator = Coordinator::from_command(command, home);
    coordinator.waits();
    let agents = [1, 2].map(|number| {
        let mut command = net.command(number, WIRECOST);
        command.args(["agent", "--join"]).arg(coordinator.join_file());
        Agent::from_command(command)
    });
    let ended = coordinator.end();
    ended.ended_well();
    agents
        .into_iter()
        .for_each(|agent| assert_eq!(agent.end().code, Some(0)));
    let figures = ended.agents();
    let mut addresses: Vec<&str> = figures.each.iter().map(|agent| agent.address.as_str()).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, ["10.79.0.1", "10.79.0.2"]);
    let (load, outcomes) = (ended.load(), ended.outcomes());
    assert_eq!((outcomes.offered, outcomes.acknowledged), (800, 800));
    let publish = load
        .phases
        .iter()
        .find(|phase| phase.name == "publish")
        .expect("messages");
    let deliveries = publish.deliveries.expect("subscribers");
    assert_eq!((deliveries.expected, deliveries.arrived), (1_600, 1_600));
}

#[test]
#[ignore = "needs root and iproute2"]
fn an_agent_whose_link_goes_down_is_named_and_the_other_goes_on() {
    let net = Net::make();
    let mut broker = net.command(3, WIRECOST);
    broker.args(["serve", "mqtt", "--listen", "10.79.0.3:1883", "--open", "-q"]);
    let _broker = Broker(broker.stdin(Stdio::null()).spawn().expect("a broker"));
    let home = open_folder();
    let mut command = net.command(3, WIRECOST);
    command.current_dir(home.path()).stdin(Stdio::null());
    command.args([
        "load",
        "mqtt://10.79.0.3",
        "-c",
        "20",
        "-r",
        "100/s",
        "-d",
        "12s",
        "--i-own-this-target",
    ]);
    command.args([
        "--agents",
        "2",
        "--listen",
        "10.79.0.3:7700",
        "--json",
        "summary.json",
        "--out",
        "run",
    ]);
    let coordinator = Coordinator::from_command(command, home);
    coordinator.waits();
    let agent = |number: u32, name: &str| {
        let mut command = net.command(number, WIRECOST);
        command
            .args(["agent", "--join"])
            .arg(coordinator.join_file())
            .args(["--name", name]);
        Agent::from_command(command)
    };
    let (stays, goes) = (agent(1, "stays"), agent(2, "goes"));
    let journal = coordinator.home().join("run/journal.jsonl");
    eventually("the load has begun", || journal.exists());
    std::thread::sleep(Duration::from_secs(3));
    ip(&["-n", &net.name(3), "link", "set", "port2", "down"]);
    let ended = coordinator.end();
    assert_eq!(ended.said.code, Some(13), "{}", ended.said.stderr);
    let (outcomes, lost) = (ended.outcomes(), ended.lost());
    assert_eq!(lost.name.as_deref(), Some("goes"));
    let loss = lost.lost.expect("a loss");
    assert!(
        loss.reason.contains("it has not answered for 5 s"),
        "{}",
        loss.reason
    );
    assert_eq!(outcomes.offered + loss.missing.expect("a schedule"), 1_200);
    assert_eq!(stays.end().code, Some(0));
    let said = goes.end();
    assert_eq!(said.code, Some(11), "{}", said.stderr);
}
