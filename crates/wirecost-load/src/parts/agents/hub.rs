//! The agents of a run: they share its loads, one after the other, as threads and worker processes do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirecost_scenario::options::load::LoadOptions;

use super::gathering::{AgentsError, Gathering};
use super::member::{JobUse, Member, ROUND};
use crate::devices::destination::Destination;
use crate::devices::share::Share;
use crate::parts::running::{Parts, Tell};
use crate::parts::usage::Used;

/// The number of devices that justify one more loop.
const DEVICES_PER_LOOP: u32 = 100;
/// How often clocks are compared.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);
/// How long a round of all agents is waited for.
const ROUND_PATIENCE: Duration = Duration::from_millis(500);
/// The time from the order to begin a phase to its beginning, in addition to the time on the way.
const LEAD: Duration = Duration::from_millis(100);
/// How far two clocks may drift apart within a phase before a delivery between them counts as one of another run, in nanoseconds.
const DRIFTED_NS: u64 = 100_000_000;
/// How often to look whether a round is over.
const LOOK: Duration = Duration::from_micros(500);

/// The agents of a run.
#[derive(Debug)]
pub struct Agents {
    members: Arc<[Arc<Member>]>,
    is_over: Arc<AtomicBool>,
    comparing: Option<JoinHandle<()>>,
    /// Refuses agents that come later, and dismisses these at the end.
    _gathering: Gathering,
}

/// What an agent did in a load.
#[derive(Clone, Debug)]
pub struct Task {
    /// The agent.
    pub member: Arc<Member>,
    /// Its shares.
    pub shares: Vec<Share>,
    /// What it was told about time.
    pub use_: JobUse,
}

impl Agents {
    pub(super) fn begin(members: Vec<Arc<Member>>, gathering: Gathering) -> std::io::Result<Self> {
        let members: Arc<[Arc<Member>]> = members.into();
        let is_over = Arc::new(AtomicBool::new(false));
        let (own, over) = (Arc::clone(&members), Arc::clone(&is_over));
        let comparing = thread::Builder::new().name("clocks".into());
        let comparing = comparing.spawn(move || compare(&own, &over))?;
        Ok(Self {
            members,
            is_over,
            comparing: Some(comparing),
            _gathering: gathering,
        })
    }

    /// The agents.
    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// The CPUs of all agents.
    pub fn cpus(&self) -> usize {
        self.members.iter().map(|member| member.cpus as usize).sum()
    }

    /// The shares of each agent: as many loops as it has CPUs, if there are enough devices.
    ///
    /// # Errors
    /// There are too few devices, or an agent cannot hold its own.
    pub fn shares(
        &self,
        options: &LoadOptions,
        destination: &Destination,
    ) -> Result<Vec<Vec<Share>>, AgentsError> {
        let devices = options.clients.saturating_add(options.receivers());
        let agents = self.members.len();
        // An agent without a device would have nothing to do, and its shares would be empty.
        if (devices as usize) < agents {
            return Err(AgentsError::FewDevices {
                agents,
                devices: devices.into(),
            });
        }
        let loops = loops(
            options,
            &self.members.iter().map(|member| member.cpus).collect::<Vec<_>>(),
        );
        // Devices are split by loops, not by agents: an agent with more CPUs has more devices.
        let mut all = Share::split(&Arc::new(options.clone()), destination, loops.iter().sum()).into_iter();
        let shares: Vec<Vec<Share>> = loops
            .iter()
            .map(|loops| all.by_ref().take(*loops as usize).collect())
            .collect();
        for (member, shares) in self.members.iter().zip(&shares) {
            let devices: u64 = shares.iter().map(|share| u64::from(share.count())).sum();
            // Said before the load: an agent without file descriptors would report failed connects, which say nothing about the server.
            if devices > member.sockets && !options.shared_socket {
                return Err(AgentsError::Devices {
                    agent: member.title(),
                    devices,
                    sockets: member.sockets,
                });
            }
        }
        Ok(shares)
    }

    /// Hands the shares of each agent over, and returns all of them as the parts of a load.
    pub fn parts(&self, shares: &[Vec<Share>]) -> Parts {
        let (outbox, incoming) = channel();
        let mut tell: Vec<Tell> = Vec::new();
        self.compare_now();
        // Between two agents both errors count: hence twice the largest below.
        let errors = self.members.iter().filter_map(|member| member.known());
        let largest_ns = errors.map(|known| known.error_ns()).max().unwrap_or(0);
        // Clocks may drift until the next phase.
        let clock_error_ns = largest_ns.saturating_mul(2).saturating_add(DRIFTED_NS);
        for (member, shares) in self.members.iter().zip(shares) {
            for share in shares {
                let (member, part) = (Arc::clone(member), share.number);
                tell.push(Box::new(move |message| member.tell(part, message)));
            }
            member.begin_job(shares, clock_error_ns, outbox.clone());
        }
        let members = Arc::clone(&self.members);
        let lead = move || {
            // The order names a time on each agent's clock, by the newest offset.
            compare_now(&members);
            let longest = members.iter().map(|member| member.exchanges().1).max();
            // The order to the farthest agent takes up to one exchange.
            LEAD + Duration::from_nanos(longest.unwrap_or(0))
        };
        Parts::new(tell, incoming, Vec::new(), || {})
            .led_by(lead)
            .on_agents(shares.iter().flatten().cloned().collect())
    }

    /// What each agent did in the load with these shares, which is over.
    pub fn end_load(&self, shares: Vec<Vec<Share>>) -> Vec<Task> {
        self.compare_now();
        let tasks = self.members.iter().zip(shares).map(|(member, shares)| Task {
            member: Arc::clone(member),
            shares,
            use_: member.end_job().unwrap_or_default(),
        });
        tasks.collect()
    }

    /// The resources that all agents have used so far. Asks them.
    pub fn used(&self) -> Used {
        self.compare_now();
        let spent = self.members.iter().map(|member| member.spent());
        spent.fold(Used::default(), |sum, spent| Used {
            user_ns: sum.user_ns + spent.user_ns,
            system_ns: sum.system_ns + spent.system_ns,
            busiest_ns: None,
            resident_bytes: sum.resident_bytes + spent.resident_bytes,
            processes: sum.processes + 1,
        })
    }

    /// The largest share of processor time that a hypervisor gave to others since the load began.
    pub fn steal(&self) -> f64 {
        let steal = self.members.iter().map(|member| member.spent().steal);
        steal.fold(0.0, f64::max)
    }

    /// Whether the idle CPUs of all agents are kept awake.
    pub fn are_awake(&self) -> bool {
        self.members.iter().all(|member| member.spent().is_awake)
    }

    /// Compares all clocks now.
    fn compare_now(&self) {
        compare_now(&self.members);
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(comparing) = self.comparing.take() {
            drop(comparing.join());
        }
    }
}

/// The loops of agents with these CPUs.
fn loops(options: &LoadOptions, cpus: &[u32]) -> Vec<u32> {
    let devices = options.clients.saturating_add(options.receivers());
    let agents = u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1);
    let useful = devices.div_ceil(agents.saturating_mul(DEVICES_PER_LOOP)).max(1);
    let asked = |cpus: &u32| options.threads.unwrap_or((*cpus).min(useful)).max(1);
    let loops: Vec<u32> = cpus.iter().map(asked).collect();
    let all: u64 = loops.iter().map(|loops| u64::from(*loops)).sum();
    // A loop without a device would have no work.
    if all > u64::from(devices) {
        vec![1; cpus.len()]
    } else {
        loops
    }
}

/// Compares clocks once a second, and finds agents that do not answer.
fn compare(members: &[Arc<Member>], is_over: &AtomicBool) {
    let mut last = Instant::now();
    while !is_over.load(Ordering::SeqCst) {
        if last.elapsed() >= BETWEEN_ROUNDS {
            last = Instant::now();
            for member in members.iter().filter(|member| member.loss().is_none()) {
                member.check();
                member.begin_round(ROUND);
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Compares all clocks now, and waits until that is done, but not for long.
fn compare_now(members: &[Arc<Member>]) {
    let before: Vec<u64> = members.iter().map(|member| member.rounds()).collect();
    members.iter().for_each(|member| member.begin_round(ROUND));
    let until = Instant::now() + ROUND_PATIENCE;
    let is_done =
        |(member, before): (&Arc<Member>, &u64)| member.rounds() > *before || member.loss().is_some();
    while !members.iter().zip(&before).all(is_done) && Instant::now() < until {
        thread::sleep(LOOK);
    }
}

impl Task {
    /// When the phase with this index began here, later than ordered, in nanoseconds: the earliest and the latest.
    pub(super) fn began(&self, phase: u32) -> Option<[i64; 2]> {
        let begun = self.use_.begun.iter().find(|begun| begun.phase == phase)?;
        let bounds = self.member.offsets().at(begun.at_ns)?;
        let late = i64::try_from(begun.late_ns).unwrap_or(i64::MAX);
        Some([
            begun
                .offset_ns
                .saturating_sub(bounds.high_ns)
                .saturating_add(late),
            begun.offset_ns.saturating_sub(bounds.low_ns).saturating_add(late),
        ])
    }

    /// How far the clock of its parts was from the coordinator's clock at most, in nanoseconds.
    pub(super) fn error_ns(&self) -> u64 {
        let offsets = self.member.offsets();
        let begun = &self.use_.begun;
        let until = begun.iter().skip(1).map(|next| next.at_ns).chain([u64::MAX]);
        let each = begun.iter().zip(until);
        let of_phases =
            each.filter_map(|(begun, until)| offsets.error_between(begun.at_ns, until, begun.offset_ns));
        let of_all = || offsets.error_between(self.use_.from_ns, u64::MAX, self.use_.offset_ns);
        of_phases.max().or_else(of_all).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use wirecost_scenario::options::load::LoadTarget;
    use wirecost_stack::target::Target;

    use super::*;

    fn loops_of(clients: u32, threads: Option<u32>, cpus: &[u32]) -> Vec<u32> {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let mut options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        (options.clients, options.threads) = (clients, threads);
        loops(&options, cpus)
    }

    #[test]
    fn an_agent_has_as_many_loops_as_cpus_if_there_are_devices_for_them() {
        assert_eq!(loops_of(20_000, None, &[8, 4]), [8, 4]);
        assert_eq!(loops_of(400, None, &[8, 4]), [2, 2]);
        assert_eq!(loops_of(2, None, &[8, 4]), [1, 1]);
        assert_eq!(loops_of(20, Some(3), &[8, 4]), [3, 3]);
        assert_eq!(loops_of(5, Some(3), &[8, 4]), [1, 1]);
    }
}
