//! The live link's two sides and the ports between which the forwarder stands.
//!
//! ```text
//! device side                                          server side
//! 10.77.0.0/16, fd77::/64 -- port -- forwarder -- port -- 10.78.0.0/16, fd78::/64
//! ```
//!
//! 1. As root, each side is a network namespace; otherwise first a user namespace in which the caller is root.
//! 2. Settings are written before the interface exists, so that it inherits them and sends nothing by itself.
//! 3. A side gets its interface (TUN, or veth where /dev/net/tun is closed), one address of its own, a local route
//!    that makes its whole prefix bindable, and a route to the other side.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wirecost_files::system;
use wirecost_link::Medium;
use wirecost_proto::Congestion;
use wirecost_proto::hosts::{
    DEVICES_V4, DEVICES_V6, HostIndex, SERVER_V4, SERVER_V6, device_address, site_address,
};

use crate::congestion::{self, Allowed, is_usable};
use crate::environment::effective_capabilities;
use crate::error::{Doing, EnvironmentError, Errno};
use crate::namespace::{Namespace, become_root_of_user_namespace};
use crate::netlink::Netlink;
use crate::netlink::link::VethEnd;
use crate::netlink::route::Prefix;
use crate::port::PacketPort;
use crate::sysctl::{self, CONGESTION_CONTROL, Settings};
use crate::tun::{self, Tun};
use crate::veth::VethPair;

/// The interface of either side.
pub const INTERFACE: &str = "wirecost0";

const MINIMUM_IPV6_MTU: u32 = 1_280; // RFC 8200 section 5

/// What to build.
#[derive(Clone, Debug)]
pub struct TopologyConfig {
    /// Largest IP packet, in bytes. Below 1,280 there is no IPv6.
    pub mtu: u32,
    /// Packets that an interface may hold before it drops.
    pub queue_packets: u32,
    /// The medium; `None` prefers TUN.
    pub medium: Option<Medium>,
    /// Whether interfaces keep segmentation offload, so that packets above the MTU reach the forwarder. It needs veth pairs.
    pub offload: bool,
    /// The device whose address a program on the device side uses unless it binds to another one. `None` is no device,
    /// which makes stray packets visible.
    pub resident: Option<HostIndex>,
    /// The sites with servers: each has a side of its own. One has all addresses of servers; of several, each has its own.
    pub sites: u8,
    /// The congestion control of both sides.
    pub congestion: Congestion,
    /// Settings of both sides that differ from `sysctl::REQUIRED`.
    pub overrides: Settings,
    /// Whether the sockets choose their congestion control themselves, so that another default of the namespace is
    /// harmless.
    pub sockets_choose: bool,
}

impl Default for TopologyConfig {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            queue_packets: 10_000,
            medium: None,
            offload: false,
            resident: None,
            sites: 1,
            congestion: Congestion::default(),
            overrides: Settings::new(),
            sockets_choose: true,
        }
    }
}

impl TopologyConfig {
    /// The settings of both sides that differ from `sysctl::REQUIRED`.
    fn settings(&self) -> Settings {
        let mut settings = self.overrides.clone();
        settings.insert(CONGESTION_CONTROL.into(), self.congestion.to_string());
        settings
    }
}

/// One side of the link.
#[derive(Clone, Debug)]
pub struct Side {
    namespace: Namespace,
    /// Its settings, as read back after they were applied.
    pub settings: Settings,
}

impl Side {
    /// The namespace of the calling thread, with its settings unchanged.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn here() -> Result<Self, EnvironmentError> {
        Ok(Self {
            namespace: Namespace::current()?,
            settings: Settings::new(),
        })
    }

    /// A new network namespace with the loopback interface alone, whose settings are those of the calling thread's. The thread is in it
    /// from then on: nothing of the machine reaches what listens there, except for threads and processes that it starts. Call it in a
    /// thread of root, or after [`prepare`].
    ///
    /// # Errors
    /// [`EnvironmentError::Namespace`] if the machine refuses it.
    pub fn alone() -> Result<Self, EnvironmentError> {
        let settings = sysctl::of_loads();
        let namespace = Namespace::unshare()?;
        for (name, value) in &settings {
            // A setting that this namespace does not have, or has for all, is as it was.
            drop(sysctl::write(name, value));
        }
        let netlink = Netlink::open().doing("socket", || "speak to the kernel by netlink".into())?;
        netlink
            .set_loopback_up()
            .doing("RTM_NEWLINK", || "bring lo up".into())?;
        Ok(Self {
            namespace,
            settings: Settings::new(),
        })
    }

    /// Moves the calling thread into this side. Its later sockets belong here.
    ///
    /// # Errors
    /// EPERM in a thread that has given up its privileges.
    pub fn enter(&self) -> Result<(), EnvironmentError> {
        self.namespace.enter()
    }
}

/// Two sides, and the ports between which the forwarder carries packets. Nothing of it outlives the process.
#[derive(Debug)]
pub struct Topology {
    /// The devices' side.
    pub device: Side,
    /// The servers' side.
    pub server: Side,
    /// Packets from and to the devices.
    pub device_port: PacketPort,
    /// Packets from and to the servers.
    pub server_port: PacketPort,
    /// The sides of the servers of further sites, with their ports.
    pub further: Vec<(Side, PacketPort)>,
    /// How packets leave a side.
    pub medium: Medium,
    /// Whether a user namespace was needed.
    pub is_unprivileged: bool,
    /// Why veth is used although it was not requested: a line of information, not a fault.
    pub veth_reason: Option<String>,
    /// Settings that were refused, one line each.
    pub warnings: Vec<String>,
}

impl Topology {
    /// Builds both sides. Afterwards the calling thread is in its original namespace or, without privileges, in the
    /// forwarder's. Call it before any thread starts, or after [`prepare`]: a user namespace cannot be made later.
    ///
    /// # Errors
    /// [`EnvironmentError::NoCongestionControl`] if the kernel lacks the one that is asked for, [`EnvironmentError::Namespace`] if the
    /// machine refuses namespaces, or else the failed step.
    pub fn create(config: &TopologyConfig) -> Result<Self, EnvironmentError> {
        let origin = Namespace::current()?;
        congestion::check(config.congestion)?;
        let permission = Allowed::temporarily(config.congestion.name());
        let mut built = Self::build(config, &origin);
        if built.is_err() {
            // The caller may continue without a live link, in its original namespace.
            let _ = origin.enter();
        }
        if let (Some(Err(error)), Ok(topology)) = (permission.map(Allowed::restore), &mut built) {
            let name = crate::congestion::ALLOWED;
            topology
                .warnings
                .push(format!("{name} could not be restored ({})", Errno::from(&error)));
        }
        built
    }

    fn build(config: &TopologyConfig, origin: &Namespace) -> Result<Self, EnvironmentError> {
        // Who asks for a medium by name gets that one or its error, and no other.
        let veth_reason = config.medium.is_none().then(tun::unusable).flatten();
        let medium = config.medium.unwrap_or(if veth_reason.is_some() {
            Medium::Veth
        } else {
            Medium::Tun
        });
        let is_unprivileged = isolate(origin)?;
        let home = match (medium, is_unprivileged) {
            (Medium::Tun, false) => origin.clone(),
            (Medium::Veth, _) | (_, true) => forwarder_namespace()?,
        };
        let mut builder = Builder {
            config,
            medium,
            home: &home,
            warnings: Vec::new(),
        };
        let (device, device_port) = builder.side(&DEVICE_SIDE.with_resident(config.resident))?;
        let (server, server_port) = match config.sites {
            0 | 1 => builder.side(&SERVER_SIDE)?,
            _ => builder.side(&Plan::of_site(0))?,
        };
        let further = (1..config.sites).map(|site| builder.side(&Plan::of_site(site)));
        let further = further.collect::<Result<_, _>>()?;
        let warnings = builder.warnings;
        if is_unprivileged {
            home.enter()?
        } else {
            origin.enter()?
        }
        Ok(Self {
            device,
            server,
            device_port,
            server_port,
            further,
            medium,
            is_unprivileged,
            veth_reason,
            warnings,
        })
    }
}

/// Replaces the warning about another default congestion control by a note if sockets choose their own: wirecost's
/// sockets do, a foreign server's do not.
fn note_sockets_own(applied: &mut sysctl::Applied, wanted: &str) {
    if applied
        .settings
        .get(CONGESTION_CONTROL)
        .is_some_and(|found| found == wanted)
        || !is_usable(wanted)
    {
        return;
    }
    applied
        .warnings
        .retain(|line| !line.starts_with(CONGESTION_CONTROL));
    applied
        .settings
        .insert("TCP_CONGESTION of our sockets".into(), wanted.into());
}

/// Takes the privileges for [`Topology::create`] while the process has one thread. Afterwards any thread can create
/// topologies. The calling thread stays in its network namespace.
///
/// # Errors
/// [`EnvironmentError::Namespace`] if the machine refuses user namespaces, [`EnvironmentError::ThreadsRunning`] after a
/// thread has started.
pub fn prepare() -> Result<(), EnvironmentError> {
    if may_make_namespaces() {
        return Ok(());
    }
    become_root_of_user_namespace()
}

/// Whether the process has root's capabilities for namespaces in its user namespace (capabilities(7)).
fn may_make_namespaces() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = system::text("/proc/self/status").unwrap_or_default();
    effective_capabilities(&status) & CAP_SYS_ADMIN != 0
}

/// Makes sure that network namespaces can be made, in a user namespace if necessary. Returns whether the thread cannot
/// return to its original namespace.
fn isolate(origin: &Namespace) -> Result<bool, EnvironmentError> {
    match Namespace::unshare() {
        // A namespace of another user namespace cannot be entered again.
        Ok(_) => Ok(origin.enter().is_err()),
        Err(error) if error.is_privilege() => {
            become_root_of_user_namespace()?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// A namespace whose interfaces forward packets and send none of their own.
fn forwarder_namespace() -> Result<Namespace, EnvironmentError> {
    let home = Namespace::unshare()?;
    for scope in ["all", "default"] {
        // A kernel without IPv6 has no such file, and sends no IPv6.
        let _ = sysctl::write(&format!("net.ipv6.conf.{scope}.disable_ipv6"), "1");
    }
    Ok(home)
}

/// The differences between the two sides.
struct Plan {
    name: &'static str,
    /// The site, from 0; its interfaces differ in it.
    site: u8,
    prefixes: [Prefix; 2],
    addresses: [IpAddr; 2],
    far_prefixes: [Prefix; 2],
    /// The networks of the other sites' servers, if there are any.
    other_servers: Option<[Prefix; 2]>,
    near_address: [u8; 6],
    far_address: [u8; 6],
}

const DEVICE_PREFIXES: [Prefix; 2] = [
    Prefix {
        address: IpAddr::V4(DEVICES_V4),
        length: 16,
    },
    Prefix {
        address: IpAddr::V6(DEVICES_V6),
        length: 64,
    },
];

const SERVER_PREFIXES: [Prefix; 2] = [
    Prefix {
        address: IpAddr::V4(Ipv4Addr::new(10, 78, 0, 0)),
        length: 16,
    },
    Prefix {
        address: IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 0)),
        length: 64,
    },
];

// Ethernet addresses: locally administered (second lowest bit of the first octet, IEEE 802).
const DEVICE_SIDE: Plan = Plan {
    name: "device",
    site: 0,
    other_servers: None,
    prefixes: DEVICE_PREFIXES,
    addresses: [
        IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1)),
    ],
    far_prefixes: SERVER_PREFIXES,
    near_address: [0x02, 0, 0, 0, 0x77, 0x01],
    far_address: [0x02, 0, 0, 0, 0x77, 0x02],
};

const SERVER_SIDE: Plan = Plan {
    name: "server",
    site: 0,
    other_servers: None,
    prefixes: SERVER_PREFIXES,
    addresses: [IpAddr::V4(SERVER_V4), IpAddr::V6(SERVER_V6)],
    far_prefixes: DEVICE_PREFIXES,
    near_address: [0x02, 0, 0, 0, 0x78, 0x01],
    far_address: [0x02, 0, 0, 0, 0x78, 0x02],
};

impl Plan {
    /// The side of the servers at one of several sites.
    fn of_site(site: u8) -> Self {
        let all = [(SERVER_PREFIXES[0].address, 16), (SERVER_PREFIXES[1].address, 48)];
        let own = [
            (Ipv4Addr::new(10, 78, site, 0).into(), 24),
            (
                IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, site.into(), 0, 0, 0, 0)),
                64,
            ),
        ];
        let prefix = |(address, length)| Prefix { address, length };
        let numbered =
            // The site is in a byte that is 0 otherwise, so that no two interfaces have one address.
            |[one, two, three, four, five, six]: [u8; 6]| [one, two, three, four ^ site, five, six];
        Self {
            site,
            prefixes: own.map(prefix),
            addresses: [site_address(site, false), site_address(site, true)],
            other_servers: Some(all.map(prefix)),
            near_address: numbered(SERVER_SIDE.near_address),
            far_address: numbered(SERVER_SIDE.far_address),
            ..SERVER_SIDE
        }
    }

    /// The name of its end of a veth pair.
    fn near_name(&self) -> String {
        match self.site {
            0 => self.name.to_owned(),
            site => format!("{}{site}", self.name),
        }
    }

    /// Adds a device's addresses to the interface's own.
    fn with_resident(mut self, host: Option<HostIndex>) -> Self {
        let address = |ipv6| host.and_then(|host| device_address(host, ipv6));
        if let (Some(v4), Some(v6)) = (address(false), address(true)) {
            self.addresses = [v4, v6];
        }
        self
    }
}

struct Builder<'a> {
    config: &'a TopologyConfig,
    medium: Medium,
    home: &'a Namespace,
    warnings: Vec<String>,
}

impl Builder<'_> {
    fn side(&mut self, plan: &Plan) -> Result<(Side, PacketPort), EnvironmentError> {
        let namespace = Namespace::unshare()?;
        let mut applied = sysctl::apply(&self.config.settings());
        if self.config.sockets_choose {
            note_sockets_own(&mut applied, self.config.congestion.name());
        }
        self.warnings.extend(
            applied
                .warnings
                .into_iter()
                .map(|line| format!("{} side: {line}", plan.name)),
        );
        let port = self.port(plan, &namespace)?;
        self.configure(plan)?;
        Ok((
            Side {
                namespace,
                settings: applied.settings,
            },
            port,
        ))
    }

    fn port(&self, plan: &Plan, namespace: &Namespace) -> Result<PacketPort, EnvironmentError> {
        if self.medium == Medium::Tun {
            let tun =
                Tun::create(INTERFACE).doing("TUNSETIFF", || format!("create the TUN device {INTERFACE}"))?;
            return Ok(PacketPort::Tun(tun));
        }
        let pair = VethPair {
            near: VethEnd {
                name: &plan.near_name(),
                address: plan.near_address,
            },
            far: VethEnd {
                name: INTERFACE,
                address: plan.far_address,
            },
            mtu: self.config.mtu,
            offload: self.config.offload,
            queue_packets: self.config.queue_packets,
        };
        self.home.enter()?;
        let socket = pair.create(self.home, namespace)?;
        namespace.enter()?;
        Ok(PacketPort::Veth(socket))
    }

    /// Brings a side's interface up and gives it addresses and routes.
    fn configure(&mut self, plan: &Plan) -> Result<(), EnvironmentError> {
        let on = |what: &str| format!("{what} on the {} side", plan.name);
        let TopologyConfig {
            mtu, queue_packets, ..
        } = *self.config;
        let netlink = Netlink::open().doing("socket", || on("speak to the kernel by netlink"))?;
        let index = netlink
            .link_index(INTERFACE)
            .doing("RTM_GETLINK", || on("find the interface"))?;
        netlink
            .set_loopback_up()
            .doing("RTM_NEWLINK", || on("bring lo up"))?;
        netlink
            .set_link_up(index, mtu, queue_packets)
            .doing("RTM_NEWLINK", || {
                on(&format!("bring {INTERFACE} up with an MTU of {mtu} B"))
            })?;
        // A qdisc such as fq_codel would drop or reorder packets before they reach the link (docs/decisions/0005).
        if let Err(error) = netlink.remove_queueing(index) {
            let found = netlink.link_queueing(index).unwrap_or_default();
            self.warnings.push(on(&format!(
                "{INTERFACE} keeps its queue {found} ({})",
                Errno::from(&error)
            )));
        }
        // The kernel refuses IPv6 on an interface with an MTU below 1,280 B (RFC 8200, section 5).
        let families = if self.has_ipv6() { 2 } else { 1 };
        for family in 0..families {
            let (local, own, far) = (
                plan.prefixes[family],
                plan.addresses[family],
                plan.far_prefixes[family],
            );
            netlink
                .add_address(index, own)
                .doing("RTM_NEWADDR", || on(&format!("add {own}")))?;
            netlink
                // A `local` route makes every address of the prefix this host's own: 65,536 devices need no address each.
                .deliver_locally(local)
                .doing("RTM_NEWROUTE", || on("make the prefix local"))?;
            netlink
                .add_route(far, index, own)
                .doing("RTM_NEWROUTE", || on("route to the other side"))?;
            if let Some(others) = &plan.other_servers {
                netlink
                    .add_route(others[family], index, own)
                    .doing("RTM_NEWROUTE", || on("route to the servers of other sites"))?;
            }
        }
        Ok(())
    }

    fn has_ipv6(&self) -> bool {
        self.config.mtu >= MINIMUM_IPV6_MTU
            && sysctl::read("net.ipv6.conf.all.disable_ipv6").is_ok_and(|value| value == "0")
    }
}
