//! The number of processes and loops of a load.

use std::net::SocketAddr;

use wirecost_live::limits::{LimitError, Limits};
use wirecost_proto::bare::Transport;
use wirecost_scenario::options::load::LoadOptions;

use crate::devices::share::sources_of;

/// The processes of a load, and the loops in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Processes; a load without workers has this process alone.
    pub processes: u32,
    /// Loops of each process.
    pub loops: u32,
}

impl Layout {
    /// The layout of a load towards `address` on a machine with these limits and CPUs.
    ///
    /// # Errors
    /// The machine cannot hold the devices. The error says how many it could hold.
    pub fn choose(
        options: &LoadOptions,
        address: SocketAddr,
        limits: &Limits,
        cpus: u32,
    ) -> Result<Self, LimitError> {
        let subscribers = options.receivers();
        let devices = u64::from(options.clients) + u64::from(subscribers);
        // On an emulated link each device has its own address.
        if options.link.is_none() {
            // To one address and port, a source address has as many connections as it has ephemeral ports.
            limits.check_ports(devices, address, &sources_of(options, address, options.clients))?;
        }
        // Devices that share a socket need no file descriptor each.
        let needed = if options.shared_socket {
            1
        } else {
            limits.processes(devices)?
        };
        let asked = options.processes.map_or(needed, u64::from).max(1);
        // A process may not open more files than its limit: with fewer processes some devices would have no socket.
        if asked < needed {
            return Err(limits.too_few_processes(devices, asked));
        }
        if !options.shared_socket {
            // All peers of a datagram service share its socket.
            let has_target = (options.link.is_some() || address.ip().is_loopback())
                && options.stack.transport() == Transport::Stream;
            limits.check_files(devices, 1 + u64::from(has_target))?;
        }
        // A process without a device would only take memory.
        let processes = asked.min(devices.max(1));
        let loops = options
            .threads
            .map_or_else(|| u64::from(cpus).div_ceil(processes), u64::from);
        // A loop without a device would have no work.
        let loops = loops.clamp(1, (devices / processes).max(1));
        Ok(Self {
            processes: u32::try_from(processes).unwrap_or(u32::MAX),
            loops: u32::try_from(loops).unwrap_or(u32::MAX),
        })
    }

    /// Whether this process does all the work.
    pub const fn is_one_process(&self) -> bool {
        self.processes == 1
    }

    /// The loops over all processes, which are the parts of the load.
    pub const fn parts(&self) -> u32 {
        self.processes * self.loops
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use wirecost_scenario::options::load::LoadTarget;
    use wirecost_stack::target::Target;

    use super::*;

    const LIMITS: Limits = Limits {
        sockets_per_process: 19_800,
        open_files: 20_000,
        other_files: 200,
        ports_per_address: 28_232,
        free_files: 20_000_000,
    };

    fn layout(change: impl FnOnce(&mut LoadOptions)) -> Result<(u32, u32), String> {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let mut options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        change(&mut options);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883));
        let layout = Layout::choose(&options, address, &LIMITS, 2);
        layout
            .map(|layout| (layout.processes, layout.loops))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn limits_decide_the_processes_and_cpus_the_loops() {
        assert_eq!(layout(|_| {}), Ok((1, 2)));
        assert_eq!(layout(|options| options.clients = 1), Ok((1, 1)));
        assert_eq!(layout(|options| options.clients = 19_801), Ok((2, 1)));
        assert_eq!(layout(|options| options.clients = 100_000), Ok((6, 1)));
    }

    #[test]
    fn requested_workers_are_used_if_possible() {
        let three_by_two = |options: &mut LoadOptions| {
            options.clients = 600;
            options.processes = Some(3);
            options.threads = Some(2);
        };
        assert_eq!(layout(three_by_two), Ok((3, 2)));
        let too_few = layout(|options| {
            options.clients = 50_000;
            options.processes = Some(2);
        });
        assert!(too_few.expect_err("too few").contains("can hold 39,600"));
    }

    #[test]
    fn shared_sockets_need_no_files() {
        let shared = layout(|options| {
            options.clients = 100_000;
            options.shared_socket = true;
        });
        assert_eq!(shared, Ok((1, 2)));
    }
}
