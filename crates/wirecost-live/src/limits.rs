//! How many devices this machine lets a process hold: open files and ports; memory where the caller says what a device takes.

use std::fs;
use std::io;
use std::net::SocketAddr;

use wirecost_proto::ResetReason;
use wirecost_proto::shown::grouped;
use wirecost_proto::units::counted;

use crate::driver::sources::Sources;
use crate::environment::{OpenFiles, free_files, local_ports};
use crate::room::{Holder, Room};
use crate::sys::memory;

/// Open files that a process needs in addition to its devices' sockets and those it has open already: results, pipes to
/// other processes, sockets that are closing.
const RESERVED_FILES: u64 = 128;

/// The limits on the number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sockets that this process can still open, after its limit of open files is raised to the highest.
    pub sockets_per_process: u64,
    /// The hard limit of open files behind that number.
    pub open_files: u64,
    /// Files that a process has open, or needs, apart from the sockets of devices.
    pub other_files: u64,
    /// The number of ports that the kernel assigns per address.
    pub ports_per_address: u64,
    /// Files that all processes of this machine can still open (fs.file-max).
    pub free_files: u64,
}

/// Why this machine cannot hold the devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Each device has a socket, and the process may not open so many.
    #[error(
        "{} as many open files, and this process can hold {} (hard limit {})",
        need(*.asked),
        grouped(*.reachable),
        grouped(*.open_files)
    )]
    OpenFiles {
        /// The requested number of devices.
        asked: u64,
        /// The possible number of devices.
        reachable: u64,
        /// The hard limit of open files.
        open_files: u64,
        /// The limit with which the process could hold the requested devices.
        needed: u64,
    },
    /// Each device has a port of its own towards the target.
    #[error("{} as many ports, and {} {}", need(*.asked), have(*.addresses), grouped(*.reachable))]
    Ports {
        /// The requested number of devices.
        asked: u64,
        /// The possible number of devices.
        reachable: u64,
        /// Number of source addresses.
        addresses: u64,
    },
    /// Each device has a socket, and so has the target for it where that is here.
    #[error(
        "{} {} open files, and this machine has {} left (fs.file-max): {} are possible",
        need(*.asked),
        grouped(*.needed),
        grouped(*.free),
        grouped(*.reachable)
    )]
    MachineFiles {
        /// The requested number of devices.
        asked: u64,
        /// The possible number of devices.
        reachable: u64,
        /// Files of both sides.
        needed: u64,
        /// Files that are left.
        free: u64,
    },
    /// Each device takes memory, in its process and in the kernel.
    #[error(
        "{} devices of {stack} need about {} of memory, and {} {} left",
        grouped(*.asked),
        data(*.needed_bytes),
        match .room.holder {
            Holder::Machine => "this machine has",
            Holder::Group => "the control group of this process has",
        },
        data(.room.bytes)
    )]
    Memory {
        /// The requested number of devices.
        asked: u64,
        /// Their stack.
        stack: String,
        /// The number of devices that send and fit beside those that receive.
        reachable: u64,
        /// Bytes for the requested devices.
        needed_bytes: u64,
        /// The memory that is left.
        room: Room,
        /// Whether other machines can take a share of the devices.
        is_divisible: bool,
    },
}

/// How a machine gets more ports for connections that it opens.
const MORE_PORTS: &str = "more ports: sudo sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";

/// What a person can do where this machine had no room for a connection; `None` if that is not the reason.
pub fn way_out_of(reason: ResetReason) -> Option<String> {
    match reason {
        ResetReason::NoPort => Some(format!(
            "fewer connections in a minute (a closed one holds its port for that long), {MORE_PORTS}, or ports that are used again \
             sooner: net.ipv4.tcp_tw_reuse=1"
        )),
        ResetReason::NoFile => Some("raise the limit of open files: ulimit -n".to_owned()),
        ResetReason::Refused
        | ResetReason::ByPeer
        | ResetReason::TimedOut
        | ResetReason::Unreachable
        | ResetReason::Local
        | ResetReason::Unread => None,
    }
}

impl LimitError {
    /// What a person can do about it.
    pub fn way_out(&self) -> String {
        match self {
            Self::OpenFiles {
                reachable, needed, ..
            } => {
                let fewer = match reachable {
                    0 => "",
                    _ => ", or take fewer --clients or more --processes",
                };
                format!(
                    "ulimit -n {needed} in the same shell before it; where the shell refuses that: sudo prlimit --pid $$ \
                     --nofile={needed}{fewer}"
                )
            }
            Self::Ports { .. } => {
                format!("more source addresses (--source), fewer --clients, or {MORE_PORTS}")
            }
            Self::MachineFiles { needed, .. } => {
                format!(
                    "sudo sysctl -w fs.file-max={}, or fewer --clients",
                    needed.saturating_mul(2)
                )
            }
            Self::Memory {
                reachable,
                is_divisible,
                ..
            } => {
                let more = match is_divisible {
                    true => "; --agents divides more among machines",
                    false => "",
                };
                match reachable {
                    0 => format!("fewer --subscribers, or a stack that takes less{more}"),
                    some => format!("--clients {some} fits{more}"),
                }
            }
        }
    }
}

/// `1 device needs`, `20 devices need`.
fn need(devices: u64) -> String {
    let verb = if devices == 1 { "needs" } else { "need" };
    format!("{} {verb}", counted(devices, "device"))
}

/// `1 source address has`, `2 source addresses have`.
fn have(addresses: u64) -> String {
    let verb = if addresses == 1 { "has" } else { "have" };
    format!("{} {verb}", counted(addresses, "source address"))
}

/// The size from which the kernel serves an allocation, in bytes: glibc's initial threshold, which it would raise
/// otherwise.
const MAPPED_BYTES: i32 = 128 * 1024;

/// Returns large allocations to the kernel when they are freed: writing or reading a histogram takes 220 kB, which the
/// allocator would keep.
pub fn spare_memory() {
    memory::map_from(MAPPED_BYTES);
}

impl Limits {
    /// The limits of this process. Raises its soft limit of open files to the hard limit.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn read() -> io::Result<Self> {
        let open_files = OpenFiles::raise()?;
        let in_use = fs::read_dir("/proc/self/fd")?.count() as u64;
        let [first, last] = local_ports()?.map(u64::from);
        Ok(Self {
            sockets_per_process: open_files.saturating_sub(in_use + RESERVED_FILES),
            open_files,
            other_files: in_use + RESERVED_FILES,
            ports_per_address: (last + 1).saturating_sub(first),
            free_files: free_files()?,
        })
    }

    /// Checks whether the machine has files for `devices`, each with this many sockets here, including the target's if it runs on
    /// this machine.
    ///
    /// # Errors
    /// It has too few. The error names the possible number.
    pub fn check_files(&self, devices: u64, sockets: u64) -> Result<(), LimitError> {
        let needed = devices.saturating_mul(sockets);
        if needed <= self.free_files {
            return Ok(());
        }
        Err(LimitError::MachineFiles {
            asked: devices,
            reachable: self.free_files / sockets,
            needed,
            free: self.free_files,
        })
    }

    /// Checks whether one process can hold `devices` with a socket each.
    ///
    /// # Errors
    /// It cannot. The error names the possible number.
    pub(crate) fn check_sockets(&self, devices: u64) -> Result<(), LimitError> {
        if devices <= self.sockets_per_process {
            return Ok(());
        }
        Err(LimitError::OpenFiles {
            asked: devices,
            reachable: self.sockets_per_process,
            open_files: self.open_files,
            needed: devices + self.other_files,
        })
    }

    /// The error of a machine where several processes together cannot hold `devices`.
    pub fn too_few_processes(&self, devices: u64, processes: u64) -> LimitError {
        LimitError::OpenFiles {
            asked: devices,
            reachable: processes * self.sockets_per_process,
            open_files: self.open_files,
            needed: devices.div_ceil(processes) + self.other_files,
        }
    }

    /// How many processes hold `devices` with a socket each; at least one.
    ///
    /// # Errors
    /// A process cannot hold even one device.
    pub fn processes(&self, devices: u64) -> Result<u64, LimitError> {
        if self.sockets_per_process == 0 {
            self.check_sockets(devices)?;
        }
        Ok(devices.div_ceil(self.sockets_per_process.max(1)).max(1))
    }

    /// Checks whether `devices` of this machine, over all processes, find a port each towards `remote`.
    ///
    /// # Errors
    /// They do not. The error names the possible number.
    pub fn check_ports(&self, devices: u64, remote: SocketAddr, sources: &Sources) -> Result<(), LimitError> {
        let usable = sources
            .addresses()
            .iter()
            .filter(|source| source.is_ipv4() == remote.is_ipv4());
        let addresses = (usable.count() as u64).max(1);
        let reachable = addresses * self.ports_per_address;
        // Devices that share sockets share their ports.
        if devices <= reachable || sources.shared_sockets() > 0 {
            return Ok(());
        }
        Err(LimitError::Ports {
            asked: devices,
            reachable,
            addresses,
        })
    }
}

/// Checks whether the `clients` and the `receivers` of a stack, of which each takes `bytes`, fit into the memory that is left.
///
/// # Errors
/// They do not. The error says how many clients do, in thousands where there are some.
pub fn check_memory(
    (clients, receivers, stack): (u64, u64, String),
    bytes: u64,
    room: Room,
    is_divisible: bool,
) -> Result<(), LimitError> {
    let devices = clients.saturating_add(receivers);
    let needed_bytes = devices.saturating_mul(bytes);
    if needed_bytes <= room.bytes {
        return Ok(());
    }
    let fitting = (room.bytes / bytes.max(1)).saturating_sub(receivers);
    // The estimate is not as good as a number with all its digits looks.
    let reachable = match fitting {
        1_000.. => fitting / 1_000 * 1_000,
        few => few,
    };
    Err(LimitError::Memory {
        asked: devices,
        stack,
        reachable,
        needed_bytes,
        room,
        is_divisible,
    })
}

/// An amount of memory.
fn data(bytes: u64) -> String {
    const GIGABYTE: u64 = 1_000_000_000;
    match bytes {
        GIGABYTE.. => format!("{:.1} GB", bytes as f64 / GIGABYTE as f64),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const LIMITS: Limits = Limits {
        sockets_per_process: 19_800,
        open_files: 20_000,
        other_files: 200,
        ports_per_address: 28_232,
        free_files: 9_000_000,
    };

    #[test]
    fn the_error_names_the_possible_number() {
        assert_eq!(LIMITS.check_sockets(19_800), Ok(()));
        let error = LIMITS.check_sockets(20_000).expect_err("too many");
        let expected =
            "20,000 devices need as many open files, and this process can hold 19,800 (hard limit 20,000)";
        assert_eq!(error.to_string(), expected);
        assert_eq!(
            error.way_out(),
            "ulimit -n 20200 in the same shell before it; where the shell refuses that: sudo prlimit --pid $$ --nofile=20200, or take \
             fewer --clients or more --processes"
        );
    }

    #[test]
    fn the_way_out_of_too_few_files_for_one_device_is_a_number_alone() {
        let few = Limits {
            sockets_per_process: 0,
            open_files: 128,
            other_files: 140,
            ..LIMITS
        };
        let way_out = few.check_sockets(10).expect_err("no room").way_out();
        assert!(
            way_out.starts_with("ulimit -n 150 ") && !way_out.contains("--clients"),
            "{way_out}"
        );
        let way_out = LIMITS.too_few_processes(50_000, 2).way_out();
        assert!(way_out.starts_with("ulimit -n 25200 "), "{way_out}");
    }

    #[test]
    fn enough_processes_hold_all_devices() {
        let processes = [0, 1, 19_800, 19_801, 100_000].map(|devices| LIMITS.processes(devices));
        assert_eq!(processes, [1, 1, 1, 2, 6].map(Ok));
        let none = Limits {
            sockets_per_process: 0,
            ..LIMITS
        };
        let said = |devices| none.processes(devices).expect_err("no room").to_string();
        assert!(said(1).starts_with("1 device needs as many open files, and this process can hold 0 "));
        assert!(said(20).starts_with("20 devices need as many open files, and this process can hold 0 "));
        assert_eq!(none.processes(0), Ok(1));
    }

    #[test]
    fn each_source_address_has_its_ports() {
        let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883));
        let crowd = 100_000;
        let one = LIMITS.check_ports(crowd, remote, &Sources::any());
        let expected = LimitError::Ports {
            asked: crowd,
            reachable: 28_232,
            addresses: 1,
        };
        assert_eq!(one, Err(expected));
        let sources = Sources::for_target(remote, crowd as u32);
        assert_eq!(LIMITS.check_ports(crowd, remote, &sources), Ok(()));
        let foreign = Sources::new(vec![IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]); 9]);
        assert!(
            LIMITS.check_ports(crowd, remote, &foreign).is_err(),
            "they are of the other family"
        );
        assert_eq!(
            LIMITS.check_ports(crowd, remote, &Sources::any().with_shared_sockets(1)),
            Ok(())
        );
    }

    #[test]
    fn more_devices_than_the_machine_has_files_for_are_refused() {
        assert_eq!(LIMITS.check_files(2_000_000, 2), Ok(()));
        let error = LIMITS.check_files(5_000_000, 2).expect_err("too many");
        let expected = "5,000,000 devices need 10,000,000 open files, and this machine has 9,000,000 left (fs.file-max): 4,500,000 are possible";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn this_process_can_open_sockets() {
        let limits = Limits::read().expect("/proc");
        assert!(
            (1..limits.open_files).contains(&limits.sockets_per_process),
            "{limits:?}"
        );
    }
}
