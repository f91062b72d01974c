//! What a report says about the agents of a load.

use wirecost_results::agents::{AgentFigures, LoadAgents};
use wirecost_results::load::Load;

use crate::number;
use wirecost_proto::units::counted;

/// The lines of the agents of each load that has any, with its label: each agent, and all of them.
pub(crate) fn all_agents(loads: &[Load], labels: &[String]) -> Vec<(String, String)> {
    let of_each = loads.iter().zip(labels);
    of_each
        .filter_map(|(load, label)| Some((load.agents.as_ref()?, label)))
        .flat_map(|(agents, label)| {
            let each = agents
                .each
                .iter()
                .map(|one| format!("agent {}: {}", one.number, agent(one)));
            let lines = each.chain([format!("agents: {}", all(agents))]);
            lines.map(|line| (label.clone(), line)).collect::<Vec<_>>()
        })
        .collect()
}

/// `2 of 2 to the end; begun within 96 us of each other; delays between them ± 96 us`.
pub(crate) fn all(agents: &LoadAgents) -> String {
    let mut text = format!("{} of {} to the end", agents.to_the_end, agents.asked);
    if let Some(within) = agents.begun_within_s {
        text += &format!("; begun within {} of each other", time(within));
    }
    if let Some(error) = agents.delay_error_s {
        text += &format!("; a delay between two is known ± {}", time(error));
    }
    text
}

/// `10.0.1.7, 8 CPUs, 8 loops, 10,000 clients; clock +81204.113513 s ± 41 us, drift +12.1 ± 0.9 ppm`.
pub(crate) fn agent(agent: &AgentFigures) -> String {
    let name = agent
        .name
        .as_ref()
        .map_or(String::new(), |name| format!("{}, ", number::plain(name)));
    let subscribers = match agent.subscribers {
        0 => String::new(),
        subscribers => format!(", {}", counted(subscribers, "subscriber")),
    };
    let drift = agent.clock_drift_ppm.zip(agent.clock_drift_error_ppm);
    let drift = drift.map_or(String::new(), |(ppm, error)| {
        format!(", drift {ppm:+.1} ± {error:.1} ppm")
    });
    let lost = agent.lost.as_ref().map_or(String::new(), |lost| {
        format!("; LOST in second {:.1}", lost.last_heard_s)
    });
    format!(
        "{name}{}, {}, {}, {}{subscribers}; clock {:+.6} s ± {}{drift}{lost}",
        agent.address,
        counted(agent.cpus.into(), "CPU"),
        counted(agent.loops.into(), "loop"),
        counted(agent.clients, "client"),
        agent.clock_offset_s,
        time(agent.clock_error_s),
    )
}

/// `96 us`, `12.3 ms`, `1.500 s`.
fn time(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} us", (seconds * 1e6).ceil())
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.3} s")
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::agents::AgentLoss;

    use super::*;

    #[test]
    fn the_line_of_the_agents_has_what_their_clocks_allow() {
        let mut agents = LoadAgents {
            asked: 2,
            to_the_end: 2,
            begun_within_s: Some(95.2e-6),
            delay_error_s: Some(12.34e-3),
            each: Vec::new(),
        };
        let text =
            "2 of 2 to the end; begun within 96 us of each other; a delay between two is known ± 12.3 ms";
        assert_eq!(all(&agents), text);
        (agents.asked, agents.to_the_end) = (1, 1);
        (agents.begun_within_s, agents.delay_error_s) = (None, None);
        assert_eq!(all(&agents), "1 of 1 to the end");
    }

    #[test]
    fn the_line_of_an_agent_has_its_clock_and_its_loss() {
        let figures = AgentFigures {
            number: 2,
            name: Some("field-lab".into()),
            address: "10.0.2.9".into(),
            cpus: 4,
            loops: 1,
            clients: 10_000,
            clock_offset_s: -3310.25026,
            clock_error_s: 55e-6,
            clock_drift_ppm: Some(12.13),
            clock_drift_error_ppm: Some(0.91),
            lost: Some(AgentLoss {
                last_heard_s: 7.04,
                ..AgentLoss::default()
            }),
            ..AgentFigures::default()
        };
        let text = "field-lab, 10.0.2.9, 4 CPUs, 1 loop, 10,000 clients; clock -3310.250260 s ± 55 us, \
                    drift +12.1 ± 0.9 ppm; LOST in second 7.0";
        assert_eq!(agent(&figures), text);
    }

    #[test]
    fn loads_without_agents_have_no_lines_about_them() {
        let shared = Load {
            agents: Some(Box::new(LoadAgents {
                asked: 1,
                each: vec![AgentFigures {
                    number: 1,
                    ..AgentFigures::default()
                }],
                ..LoadAgents::default()
            })),
            ..Load::default()
        };
        let labels = ["alone".to_owned(), "shared".to_owned()];
        let lines = all_agents(&[Load::default(), shared], &labels);
        assert!(lines.iter().all(|(label, _)| label == "shared"), "{lines:?}");
        let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        assert!(
            texts[0].starts_with("agent 1: ") && texts[1] == "agents: 0 of 1 to the end",
            "{texts:?}"
        );
    }
}
