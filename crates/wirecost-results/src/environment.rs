//! `env.json`: the machine, its kernel and how well the emulator kept its deadlines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wirecost_stats::MeanInterval;

/// Facts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Version of wirecost.
    pub wirecost_version: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: u64,
    /// Frequency governor, where the machine reports one.
    pub cpu_governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The hard limit of open files of a process, where the machine reports one.
    #[serde(default)]
    pub open_files_limit: Option<u64>,
    /// The first and the last ephemeral port.
    #[serde(default)]
    pub local_ports: Option<[u16; 2]>,
    /// Addresses of the devices of loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_addresses: Vec<String>,
    /// Kernel clock source.
    pub clock_source: Option<String>,
    /// Resolution of the monotonic clock.
    pub clock_resolution_ns: u64,
    /// Cost of reading it: mean.
    pub clock_read_ns: u64,
    /// Mean cost of reading the thread's CPU clock. The clock is read before and after the work that is charged to a
    /// cell. About one of these two reads is charged too.
    #[serde(default)]
    pub cpu_clock_read_ns: u64,
    /// One-minute load average before and after.
    pub load_average: [f64; 2],
    /// Share of CPU time stolen by the hypervisor during the run.
    pub steal: Option<f64>,
    /// Path of packets: `tun`, `veth` or `none`.
    pub packet_path: String,
    /// Settings of the device's network namespace.
    pub device_network: BTreeMap<String, String>,
    /// Settings of the server's network namespace.
    pub server_network: BTreeMap<String, String>,
    /// How late the emulator delivered packets.
    pub emulator: Option<Emulator>,
    /// Version and file of the foreign servers used.
    pub servers: BTreeMap<String, String>,
    /// Resident memory of the foreign server at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_resident_bytes: Option<u64>,
    /// The energy of this machine, measured by itself during the live part of a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_energy: Option<MachineEnergy>,
    /// Packets in the capture that belong to no cell.
    pub unattributed_packets: u64,
    /// Packets that a TUN, a packet socket or the recorder dropped. Any dropped packet makes the run invalid.
    pub dropped_packets: u64,
}

impl Environment {
    /// The environment of a run that this command continued after an earlier one.
    #[must_use]
    pub fn following(self, earlier: &Self) -> Self {
        let went_live = self.packet_path != "none";
        // A continued run that had only simulated cells left knows nothing of the interfaces that the earlier one used.
        let live = if went_live { &self } else { earlier };
        let energies = [&earlier.machine_energy, &self.machine_energy];
        let mut servers = earlier.servers.clone();
        servers.extend(self.servers.clone());
        let mut addresses = earlier.source_addresses.clone();
        addresses.extend(self.source_addresses.iter().cloned());
        addresses.sort();
        addresses.dedup();
        let duration_s = earlier.duration_s + self.duration_s;
        let stolen = |of: &Self| of.steal.map(|steal| steal * of.duration_s);
        Self {
            started_at: earlier.started_at.clone(),
            duration_s,
            // Before the first part, and after the last.
            load_average: [earlier.load_average[0], self.load_average[1]],
            steal: stolen(earlier)
                .zip(stolen(&self))
                // Weighted by time: a short second part must not halve what the first one lost.
                .map(|(before, now)| (before + now) / duration_s),
            source_addresses: addresses,
            packet_path: live.packet_path.clone(),
            device_network: live.device_network.clone(),
            server_network: live.server_network.clone(),
            emulator: live.emulator.clone(),
            server_resident_bytes: live.server_resident_bytes,
            servers,
            machine_energy: MachineEnergy::following(energies),
            unattributed_packets: earlier.unattributed_packets + self.unattributed_packets,
            dropped_packets: earlier.dropped_packets + self.dropped_packets,
            ..self
        }
    }
}

/// Samples of the power of the machine, in watts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerSamples {
    /// What measured it.
    pub source: Option<String>,
    /// Why nothing was measured.
    pub not_measured: Option<String>,
    /// Before the run, at rest.
    pub idle_watts: Vec<f64>,
    /// During the run.
    pub active_watts: Vec<f64>,
    /// How long the run took, in seconds.
    pub seconds: f64,
}

/// The energy of this machine: devices, servers and the emulated link together. Measured, or absent with the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineEnergy {
    /// What measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Mean power at rest, in watts.
    pub idle_w: Option<f64>,
    /// Mean power during the run, in watts.
    pub active_w: Option<f64>,
    /// How long the run took, in seconds.
    pub seconds: f64,
    /// Messages of the live cells.
    pub messages: u64,
    /// Energy above rest for each message, in joules.
    pub above_idle_j_per_message: Option<f64>,
    /// Its 95 % interval, from the spread of the samples of power at rest and during the run; null if they are too few.
    pub above_idle_j_per_message_ci95: Option<[f64; 2]>,
}

impl MachineEnergy {
    /// The energy of an earlier command and of the one that continued it. The means of two commands have no common interval.
    fn following(energies: [&Option<Self>; 2]) -> Option<Self> {
        match energies {
            [Some(earlier), Some(now)] => Some(Self {
                not_measured: Some("the run was continued by a later command".into()),
                seconds: earlier.seconds + now.seconds,
                messages: earlier.messages + now.messages,
                ..Self::default()
            }),
            [one, other] => one.as_ref().or(other.as_ref()).cloned(),
        }
    }

    /// The energy of one part of a run after the other, and of their messages; `None` without any part.
    pub fn sum(parts: &[&PowerSamples], messages: u64) -> Option<Self> {
        let first = parts.first()?;
        let all = |of: fn(&PowerSamples) -> &Vec<f64>| -> Vec<f64> {
            parts.iter().flat_map(|part| of(part).iter().copied()).collect()
        };
        let idle = MeanInterval::from_values(&all(|part| &part.idle_watts));
        let active = MeanInterval::from_values(&all(|part| &part.active_watts));
        let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
        let each = |watts: f64| watts * seconds / messages as f64;
        // Without messages there is nothing to divide by.
        let both = idle.as_ref().zip(active.as_ref()).filter(|_| messages > 0);
        Some(Self {
            source: first.source.clone(),
            not_measured: parts.iter().find_map(|part| part.not_measured.clone()),
            idle_w: idle.as_ref().map(|idle| idle.mean),
            active_w: active.as_ref().map(|active| active.mean),
            seconds,
            messages,
            above_idle_j_per_message: both.map(|(idle, active)| each(active.mean - idle.mean)),
            above_idle_j_per_message_ci95: both
                .and_then(|(idle, active)| difference(active, idle))
                .map(|ends| ends.map(each)),
        })
    }
}

/// The interval of the difference of two independent means.
fn difference(one: &MeanInterval, other: &MeanInterval) -> Option<[f64; 2]> {
    let mean = one.mean - other.mean;
    let down = (one.mean - one.low?).hypot(other.high? - other.mean);
    let up = (one.high? - one.mean).hypot(other.mean - other.low?);
    Some([mean - down, mean + up])
}

/// How the emulator kept its deadlines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Emulator {
    /// Packets delivered.
    pub packets: u64,
    /// Delivery after its deadline: median.
    pub lateness_p50_ns: u64,
    /// Delivery after its deadline: 99th percentile.
    pub lateness_p99_ns: u64,
    /// Delivery after its deadline: largest.
    pub lateness_max_ns: u64,
    /// CPU time of the forwarder. It is not charged to any cell.
    pub cpu_ns: u64,
    /// Half the lowest decile of the round-trip times over a link without delay. The emulator subtracts it from every
    /// delay.
    #[serde(default)]
    pub head_start_ns: u64,
    /// Priority that the machine granted the forwarder's thread.
    #[serde(default)]
    pub priority: String,
    /// Whether idle CPUs were kept awake: `awake`, or `asleep` without the permission to keep them awake.
    #[serde(default)]
    pub idle_cpus: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continued_run_has_the_times_of_all_its_commands() {
        let earlier = Environment {
            started_at: "2026-01-01T00:00:00Z".into(),
            duration_s: 30.0,
            load_average: [0.1, 0.9],
            steal: Some(0.0),
            packet_path: "veth".into(),
            servers: [("mosquitto".to_owned(), "/usr/sbin/mosquitto 2.0.11".to_owned())].into(),
            machine_energy: Some(MachineEnergy::default()),
            unattributed_packets: 2,
            ..Environment::default()
        };
        let simulated = Environment {
            started_at: "2026-01-02T00:00:00Z".into(),
            duration_s: 10.0,
            load_average: [0.5, 0.2],
            steal: Some(0.4),
            packet_path: "none".into(),
            ..Environment::default()
        };
        let whole = simulated.following(&earlier);
        assert_eq!(
            (
                whole.started_at.as_str(),
                whole.duration_s,
                whole.load_average,
                whole.steal
            ),
            ("2026-01-01T00:00:00Z", 40.0, [0.1, 0.2], Some(0.1))
        );
        assert_eq!(
            (whole.packet_path.as_str(), whole.unattributed_packets),
            ("veth", 2)
        );
        assert_eq!(whole.servers, earlier.servers);
        assert_eq!(whole.machine_energy, earlier.machine_energy);
        let twice = earlier
            .clone()
            .following(&earlier)
            .machine_energy
            .expect("a reason");
        assert!(twice.not_measured.is_some() && twice.active_w.is_none());
    }

    #[test]
    fn energy_above_rest_is_shared_among_messages() {
        let part = PowerSamples {
            source: Some("RAPL".into()),
            idle_watts: (0..12).map(|at| 4.0 + f64::from(at % 2) * 0.2).collect(),
            active_watts: (0..40).map(|at| 9.0 + f64::from(at % 2) * 0.2).collect(),
            seconds: 10.0,
            ..PowerSamples::default()
        };
        // 9.1 W - 4.1 W for 10 s, of 100 messages.
        let energy = MachineEnergy::sum(&[&part], 100).expect("a part");
        let each = energy.above_idle_j_per_message.expect("measured");
        assert!((each - 0.5).abs() < 1e-9);
        let [low, high] = energy.above_idle_j_per_message_ci95.expect("an interval");
        assert!(low < each && each < high && high - low < 0.05, "{low} {high}");
        let none = MachineEnergy::sum(&[&part], 0).expect("a part");
        assert_eq!(none.above_idle_j_per_message, None);
    }

    #[test]
    fn a_machine_that_measures_nothing_has_a_reason_and_no_number() {
        let part = PowerSamples {
            not_measured: Some("no RAPL and no battery here".into()),
            seconds: 10.0,
            ..PowerSamples::default()
        };
        let energy = MachineEnergy::sum(&[&part], 100).expect("a part");
        assert_eq!(energy.not_measured, part.not_measured);
        assert_eq!(
            (energy.idle_w, energy.active_w, energy.above_idle_j_per_message),
            (None, None, None)
        );
    }
}
