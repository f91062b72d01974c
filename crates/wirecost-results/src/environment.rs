//! `env.json`: the machine, its kernel and how well the emulator kept its deadlines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Packets in the capture that belong to no cell.
    pub unattributed_packets: u64,
    /// Packets that a TUN, a packet socket or the recorder dropped. Any dropped packet makes the run invalid.
    pub dropped_packets: u64,
}

/// How the emulator kept its deadlines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
