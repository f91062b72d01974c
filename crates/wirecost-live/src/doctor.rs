//! Finds out what this machine can do for a live run by trying it. Each trial runs in a forked child, so that the
//! caller's namespaces stay unchanged.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use wirecost_link::Medium;

use crate::clock::{Clock, ClockQuality};
use crate::environment::{Environment, Load, OpenFiles, free_files};
use crate::error::{Doing, EnvironmentError};
use crate::namespace::{Namespace, become_root_of_user_namespace};
use crate::power::Source;
use crate::process::user::ServerUser;
use crate::sys::process::{in_child, is_readable};
use crate::timerfd::{TimerFd, minimize_timer_slack};
use crate::topology::{self, Topology, TopologyConfig};

const WAKE_UPS: usize = 300;
const WAKE_UP_INTERVAL: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_micros(500);
const COARSE: Duration = Duration::from_micros(1);
const STEAL_SHARE: f64 = 0.01;
const OPEN_FILES: u64 = 65_536;
const CORES: usize = 4; // client, server and forwarder have a thread each, and the rest of the machine one

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Works,
    /// It works with a limitation, which the detail names.
    Limited,
    /// It does not work.
    Missing,
}

/// The result of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The ability.
    pub what: &'static str,
    /// How the trial ended.
    pub verdict: Verdict,
    /// The observation.
    pub detail: String,
    /// The remedy.
    pub advice: Option<String>,
}

/// Tries everything that a live run needs, in that order. Takes about half a second. Call it before any thread starts.
pub fn examine() -> Vec<Finding> {
    let network = tried("network namespace", || {
        Namespace::unshare().map(|_| "can be created as you are".into())
    });
    let user = tried("user namespace", user_namespace);
    let tun = tried("TUN", || build(Medium::Tun));
    let veth = tried("veth", || build(Medium::Veth));
    vec![
        either(network, &user, "only within a user namespace"),
        user,
        either(tun, &veth, "not for this user: veth carries the same bytes"),
        veth,
        tried("real servers", || {
            // Servers start in the same user namespace as those of a run, where it may be that only root is mapped.
            topology::prepare()?;
            ServerUser::described()
        }),
        clock(),
        tried("timers", timers),
        open_files(),
        cores(),
        steal(),
        energy(),
    ]
}

/// What measures the energy of this machine.
fn energy() -> Finding {
    let found = Source::find(Path::new("/sys"));
    Finding {
        what: "energy",
        verdict: if found.is_ok() {
            Verdict::Works
        } else {
            Verdict::Limited
        },
        advice: found.is_err().then(|| {
            "nothing else depends on it: a power meter's file does (wirecost cost --meter)".to_owned()
        }),
        detail: found.map_or_else(
            |why| format!("not measured: {why}"),
            |source| format!("measured by {}", source.name()),
        ),
    }
}

/// An AppArmor profile that allows `program` user namespaces and restricts nothing else.
pub fn apparmor_profile(program: &Path) -> String {
    let program = program.display();
    format!(
        "abi <abi/4.0>,\ninclude <tunables/global>\n\n\
         profile wirecost \"{program}\" flags=(unconfined) {{\n  userns,\n}}\n"
    )
}

/// One of the two is enough: a failure of the first is harmless if the second works, and `detail` explains that.
fn either(first: Finding, second: &Finding, detail: &str) -> Finding {
    if first.verdict == Verdict::Works || second.verdict != Verdict::Works {
        return first;
    }
    Finding {
        verdict: Verdict::Limited,
        advice: None,
        detail: detail.into(),
        ..first
    }
}

const WORKS: u8 = b'+';
const LIMITED: u8 = b'~';
const SEPARATOR: char = '\n';

/// Tries `work` in a child and turns its result into a finding.
fn tried(what: &'static str, work: impl FnOnce() -> Result<String, EnvironmentError>) -> Finding {
    let answer = in_child(|| match work() {
        Ok(detail) if detail.contains(SEPARATOR) => [&[LIMITED], detail.as_bytes()].concat(),
        Ok(detail) => [&[WORKS], detail.as_bytes()].concat(),
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            format!("-{error}{SEPARATOR}{hint}").into_bytes()
        }
    });
    finding(what, &answer.unwrap_or_default())
}

/// The result of a trial that worked with a limitation.
fn limited(detail: &str, advice: &str) -> String {
    format!("{detail}{SEPARATOR}{advice}")
}

fn finding(what: &'static str, answer: &[u8]) -> Finding {
    let Some((mark, text)) = answer.split_first() else {
        return Finding {
            what,
            verdict: Verdict::Missing,
            // Each try runs in a process of its own; one that is killed, as by a seccomp filter, answers nothing.
            detail: "the try itself failed".into(),
            advice: None,
        };
    };
    let verdict = match *mark {
        WORKS => Verdict::Works,
        LIMITED => Verdict::Limited,
        _ => Verdict::Missing,
    };
    let text = String::from_utf8_lossy(text);
    let (detail, advice) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
    let advice = (!advice.is_empty()).then(|| advice.to_string());
    Finding {
        what,
        verdict,
        detail: detail.into(),
        advice,
    }
}

/// AppArmor allows the user namespace but removes its capabilities. Only a privileged call inside shows that.
fn user_namespace() -> Result<String, EnvironmentError> {
    become_root_of_user_namespace()?;
    Namespace::unshare()?;
    Ok("can be created, with a network namespace inside".into())
}

fn build(medium: Medium) -> Result<String, EnvironmentError> {
    let topology = Topology::create(&TopologyConfig {
        medium: Some(medium),
        ..TopologyConfig::default()
    })?;
    let how = if topology.is_unprivileged {
        "in a user namespace"
    } else {
        "as root"
    };
    match topology.warnings.first() {
        None => Ok(format!("both sides were built {how}")),
        Some(warning) => Ok(limited(
            &format!("both sides were built {how}, but {warning}"),
            setting_advice(warning),
        )),
    }
}

fn setting_advice(warning: &str) -> &'static str {
    if warning.contains("congestion") {
        return "sudo sysctl -w net.ipv4.tcp_allowed_congestion_control=\"reno cubic\", or sudo wirecost ...";
    }
    "results on TCP carry this setting's effect; sudo wirecost ... may be able to change it"
}

fn clock() -> Finding {
    let ClockQuality {
        resolution,
        read_cost,
    } = ClockQuality::of_monotonic();
    let source = Environment::read()
        .clock_source
        .unwrap_or_else(|| "unknown source".into());
    let detail = format!(
        "{source}, resolution {} ns, a read costs {} ns",
        resolution.as_nanos(),
        read_cost.as_nanos()
    );
    let is_fine = resolution < COARSE && read_cost < COARSE;
    let advice = "choose a faster clock source: echo tsc | \
                  sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    judged("clock", is_fine, detail, advice)
}

fn timers() -> Result<String, EnvironmentError> {
    let mut lateness = wake_ups().doing("timerfd_settime", || "wait for a timer".into())?;
    lateness.sort_unstable();
    let quantile = |percent: usize| {
        lateness
            .get(lateness.len() * percent / 100)
            .map_or(0, Duration::as_micros)
    };
    let (median, tail) = (quantile(50), quantile(99));
    let detail = format!("{WAKE_UPS} wake-ups late by {median} us at p50, {tail} us at p99");
    if tail < LATE.as_micros() {
        return Ok(detail);
    }
    Ok(limited(
        &detail,
        "end other work on this machine while it measures",
    ))
}

/// How late each of a series of wake-ups was.
fn wake_ups() -> io::Result<Vec<Duration>> {
    let timer = TimerFd::new().map_err(io::Error::other)?;
    let clock = Clock::start();
    // Linux wakes a thread up to 50 us late by itself (timer slack, prctl(2)), which would be all that is measured.
    minimize_timer_slack()?;
    let mut lateness = Vec::with_capacity(WAKE_UPS);
    for _ in 0..WAKE_UPS {
        let deadline = clock.now() + WAKE_UP_INTERVAL;
        timer.arm(&clock, deadline)?;
        // A poll may end before the time, by a signal.
        while !timer.take_expiry()? {
            is_readable(timer.as_fd(), -1)?;
        }
        lateness.push(clock.now().saturating_since(deadline));
    }
    Ok(lateness)
}

/// wirecost raises its own limit to the hard one, and a load has as many processes as it takes: only one process and
/// the machine have limits.
fn open_files() -> Finding {
    let limit = OpenFiles::read().unwrap_or(OpenFiles { soft: 0, hard: 0 });
    let free = free_files().unwrap_or_default();
    let detail = format!(
        "{} per process, which wirecost takes by itself (now {}); {free} left on this machine (fs.file-max)",
        limit.hard, limit.soft
    );
    let advice = match limit.hard < OPEN_FILES {
        true => {
            "a load takes more processes by itself; for more devices in a live comparison, which is one process, raise \
             the limit as root: ulimit -Hn 1048576"
        }
        false => "the machine has few files left for all processes: sysctl -w fs.file-max=1048576 (as root)",
    };
    judged("open files", limit.hard.min(free) >= OPEN_FILES, detail, advice)
}

fn cores() -> Finding {
    let cores = Environment::read().cores;
    let advice = "keep loads low: client, server and forwarder share processors here";
    judged("processors", cores >= CORES, cores.to_string(), advice)
}

fn steal() -> Finding {
    let share = Load::read().steal_share_since(&Load::default());
    let detail = format!(
        "{:.2} % of the processors' time since boot went to other machines",
        share * 100.0
    );
    judged(
        "steal",
        share < STEAL_SHARE,
        detail,
        "times on this machine vary with its neighbours: take a dedicated one",
    )
}

fn judged(what: &'static str, is_fine: bool, detail: String, advice: &str) -> Finding {
    let verdict = if is_fine { Verdict::Works } else { Verdict::Limited };
    Finding {
        what,
        verdict,
        detail,
        advice: (!is_fine).then(|| advice.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_becomes_a_verdict_with_detail_and_advice() {
        let limited = finding("veth", b"~built, but bbr\nset cubic");
        assert_eq!(
            (limited.verdict, limited.detail.as_str()),
            (Verdict::Limited, "built, but bbr")
        );
        assert_eq!(limited.advice.as_deref(), Some("set cubic"));
        assert_eq!(finding("TUN", b"+fine").verdict, Verdict::Works);
        assert_eq!(finding("TUN", b"-closed\n").advice, None);
        assert_eq!(finding("TUN", b"").verdict, Verdict::Missing);
    }

    #[test]
    fn the_profile_names_the_program_and_grants_user_namespaces() {
        let profile = apparmor_profile(Path::new("/usr/bin/wirecost"));
        assert!(
            profile.contains("profile wirecost \"/usr/bin/wirecost\" flags=(unconfined) {\n  userns,\n}")
        );
    }

    #[test]
    fn a_user_namespace_makes_up_for_a_missing_network_namespace() {
        let missing = || finding("network namespace", b"-EPERM\nsudo");
        assert_eq!(
            either(missing(), &finding("user namespace", b"+"), "within").verdict,
            Verdict::Limited
        );
        assert_eq!(
            either(missing(), &finding("user namespace", b"-no\n"), "within").verdict,
            Verdict::Missing
        );
    }
}
