//! Both media, as root and as nobody: the link carries exactly the packets of its endpoints, complete and not merged.

mod common;
#[path = "common/forward.rs"]
mod forward;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Duration;

use wirecost_link::Medium;
use wirecost_live::congestion::set_congestion_control;
use wirecost_live::doctor::Verdict;
use wirecost_live::netlink::Netlink;
use wirecost_live::topology::INTERFACE;
use wirecost_live::{EnvironmentError, Side, Topology, TopologyConfig};
use wirecost_proto::Congestion;
use wirecost_proto::hosts::{HostIndex, SERVER_V4, SERVER_V6, device_address};

use common::{Case, User};
use forward::{Carried, Forwarder};

const TRANSFER_BYTES: usize = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let case = |name, needs, user, run| Case {
        name,
        needs,
        user,
        run,
    };
    common::main(&[
        case("tun_carries_udp_and_tcp", "root", User::Caller, || {
            exchange(Medium::Tun)
        }),
        case("veth_carries_udp_and_tcp", "root", User::Caller, || {
            exchange(Medium::Veth)
        }),
        case(
            "veth_carries_udp_and_tcp_for_nobody",
            "root",
            User::Nobody,
            || exchange(Medium::Veth),
        ),
        case(
            "tun_carries_udp_and_tcp_for_nobody_where_its_node_is_open",
            "root",
            User::Nobody,
            tun_for_nobody,
        ),
        case("nobody_speaks_unasked_over_tun", "root", User::Caller, || {
            silence(Medium::Tun)
        }),
        case("nobody_speaks_unasked_over_veth", "root", User::Caller, || {
            silence(Medium::Veth)
        }),
        case(
            "settings_are_read_back_and_can_be_overridden",
            "root",
            User::Caller,
            settings,
        ),
        case("a_small_mtu_holds_on_both_ends", "root", User::Caller, small_mtu),
        case("root_comes_back_to_where_it_was", "root", User::Caller, origin),
        case(
            "packets_do_not_wait_before_the_interface",
            "root",
            User::Caller,
            no_queue,
        ),
        case("a_full_tun_queue_is_counted", "root", User::Caller, || {
            overflow(Medium::Tun)
        }),
        case("a_full_packet_socket_is_counted", "root", User::Caller, || {
            overflow(Medium::Veth)
        }),
        case(
            "nobody_can_choose_cubic_for_a_socket",
            "root",
            User::Nobody,
            cubic_by_socket,
        ),
        case("the_doctor_finds_what_works", "root", User::Caller, doctor),
        case(
            "the_doctor_finds_what_works_for_nobody",
            "root",
            User::Nobody,
            doctor,
        ),
        case(
            "a_user_namespace_after_threads_is_refused_by_name",
            "",
            User::Nobody,
            threads_running,
        ),
    ])
}

fn create(config: &TopologyConfig) -> Result<Topology, String> {
    match Topology::create(config) {
        Ok(topology) => Ok(topology),
        Err(error) if error.is_privilege() => Err(format!("{error}; {}", error.hint().unwrap_or_default())),
        Err(error) => panic!("{error}"),
    }
}

/// Who may open `/dev/net/tun` differs between machines. If only root may, the refusal says so.
fn tun_for_nobody() -> Result<(), String> {
    let node = std::fs::metadata("/dev/net/tun").map_err(|error| error.to_string())?;
    if node.permissions().mode() & 0o006 == 0o006 {
        return exchange(Medium::Tun);
    }
    let refused = create(&TopologyConfig {
        medium: Some(Medium::Tun),
        ..TopologyConfig::default()
    });
    let refusal = refused.map(drop).expect_err("the node is root's alone");
    assert!(
        refusal.contains("EACCES") && refusal.contains("root"),
        "{refusal}"
    );
    Ok(())
}

fn exchange(medium: Medium) -> Result<(), String> {
    let topology = create(&TopologyConfig {
        medium: Some(medium),
        ..TopologyConfig::default()
    })?;
    assert_settings_took(&topology);
    let Topology {
        device,
        server,
        device_port,
        server_port,
        ..
    } = topology;
    let forwarder = Forwarder::start(device_port, server_port);
    let pairs: [(IpAddr, IpAddr); 4] = [
        (address_of(1, false), SERVER_V4.into()),
        (address_of(65_000, false), SERVER_V4.into()),
        (address_of(1, true), SERVER_V6.into()),
        (address_of(65_000, true), SERVER_V6.into()),
    ];
    for (from, to) in pairs {
        udp_echo(&device, &server, from, to);
        tcp_transfer(&device, &server, from, to);
    }
    let carried = forwarder.stop();
    assert_whole(&carried, 1_500);
    assert!(
        carried.packets > 4 * (TRANSFER_BYTES / 1_500) as u64,
        "{carried:?}"
    );
    Ok(())
}

/// Only root can give a namespace a congestion control that the machine does not allow to everyone.
fn assert_settings_took(topology: &Topology) {
    let is_expected = |line: &String| topology.is_unprivileged && line.contains("tcp_congestion_control");
    assert!(
        topology.warnings.iter().all(is_expected),
        "{:?}",
        topology.warnings
    );
}

fn assert_whole(carried: &Carried, mtu: usize) {
    assert_eq!(
        carried.longest, mtu,
        "the largest packet fills the MTU and none is above it"
    );
    assert_eq!(carried.bad_checksums, 0);
    assert_eq!(carried.drops, 0);
}

fn inside<T: Send>(side: &Side, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            side.enter().expect("the namespace can be entered");
            work()
        });
        thread.join().expect("the work ends")
    })
}

fn udp_echo(device: &Side, server: &Side, from: IpAddr, to: IpAddr) {
    let served = inside(server, || UdpSocket::bind((to, 0)).unwrap());
    let client = inside(device, || UdpSocket::bind((from, 0)).unwrap());
    served.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 2_000];
    client.send_to(&[7; 1_000], served.local_addr().unwrap()).unwrap();
    let (length, peer) = served.recv_from(&mut buffer).unwrap();
    assert_eq!(peer.ip(), from);
    served.send_to(&buffer[..length], peer).unwrap();
    assert_eq!(client.recv(&mut buffer).unwrap(), 1_000);
}

fn tcp_transfer(device: &Side, server: &Side, from: IpAddr, to: IpAddr) {
    let listener = inside(server, || TcpListener::bind((to, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let sender = device.clone();
    let client = std::thread::spawn(move || {
        sender.enter().unwrap();
        let mut stream = connect_from(from, address);
        stream.write_all(&vec![5; TRANSFER_BYTES]).unwrap();
    });
    let (mut stream, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), from);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(received.len() == TRANSFER_BYTES && received.iter().all(|byte| *byte == 5));
    client.join().unwrap();
}

/// Connects from a given address, which std cannot do.
fn connect_from(from: IpAddr, to: SocketAddr) -> TcpStream {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let domain = if from.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket =
        unsafe { OwnedFd::from_raw_fd(libc::socket(domain, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)) };
    for (address, call) in [
        (
            SocketAddr::new(from, 0),
            libc::bind as unsafe extern "C" fn(_, _, _) -> _,
        ),
        (to, libc::connect as unsafe extern "C" fn(_, _, _) -> _),
    ] {
        let bytes = socket_address(address);
        // SAFETY: the pointer and length describe a sockaddr_in or sockaddr_in6 as bytes.
        let result = unsafe { call(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len() as u32) };
        assert_eq!(result, 0, "{address}: {}", std::io::Error::last_os_error());
    }
    TcpStream::from(socket)
}

fn socket_address(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    } as u16;
    let mut bytes = family.to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => bytes.extend([&ip.octets()[..], &[0; 8]].concat()),
        IpAddr::V6(ip) => bytes.extend([&[0; 4], &ip.octets()[..], &[0; 4]].concat()),
    }
    bytes
}

fn silence(medium: Medium) -> Result<(), String> {
    let topology = create(&TopologyConfig {
        medium: Some(medium),
        ..TopologyConfig::default()
    })?;
    let forwarder = Forwarder::start(topology.device_port, topology.server_port);
    std::thread::sleep(Duration::from_millis(1_500));
    let carried = forwarder.stop();
    assert_eq!(carried.packets, 0, "{carried:02x?}");
    assert_eq!(carried.drops, 0);
    Ok(())
}

fn settings() -> Result<(), String> {
    let allowed = || {
        let file = File::open("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
        file.lock_shared().unwrap(); // another run may be changing it
        std::io::read_to_string(file).unwrap()
    };
    let before = allowed();
    let overrides = [("net.ipv4.tcp_fastopen".to_string(), "3".to_string())].into();
    let topology = create(&TopologyConfig {
        congestion: Congestion::Reno,
        overrides,
        ..TopologyConfig::default()
    })?;
    for side in [&topology.device, &topology.server] {
        assert_eq!(side.settings["net.ipv4.tcp_rmem"], "4096 131072 6291456");
        assert_eq!(side.settings["net.ipv4.tcp_fastopen"], "3");
        let found = inside(side, || {
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap()
        });
        assert_eq!(found.trim(), "reno", "every user may choose it");
        assert_eq!(found.trim(), side.settings["net.ipv4.tcp_congestion_control"]);
    }
    assert_settings_took(&topology);
    assert_eq!(allowed(), before, "the machine is left as it was");
    assert_eq!(topology.medium == Medium::Veth, topology.veth_reason.is_some());
    Ok(())
}

fn small_mtu() -> Result<(), String> {
    for medium in [Medium::Tun, Medium::Veth] {
        let topology = create(&TopologyConfig {
            mtu: 576,
            medium: Some(medium),
            ..TopologyConfig::default()
        })?;
        let forwarder = Forwarder::start(topology.device_port, topology.server_port);
        tcp_transfer(
            &topology.device,
            &topology.server,
            address_of(2, false),
            SERVER_V4.into(),
        );
        assert_whole(&forwarder.stop(), 576);
    }
    Ok(())
}

fn origin() -> Result<(), String> {
    let link = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = link();
    let topology = create(&TopologyConfig::default())?;
    assert_eq!(link() == before, !topology.is_unprivileged);
    assert_ne!(inside(&topology.device, link), before);
    assert_ne!(inside(&topology.device, link), inside(&topology.server, link));
    Ok(())
}

fn no_queue() -> Result<(), String> {
    for medium in [Medium::Tun, Medium::Veth] {
        let topology = create(&TopologyConfig {
            medium: Some(medium),
            ..TopologyConfig::default()
        })?;
        for side in [&topology.device, &topology.server] {
            let netlink = inside(side, || Netlink::open().unwrap());
            let index = netlink.link_index(INTERFACE).unwrap();
            assert_eq!(netlink.link_queueing(index).unwrap(), "noqueue");
        }
    }
    Ok(())
}

/// Nothing reads from the port: packets that do not fit must show up as drops, and nowhere else.
fn overflow(medium: Medium) -> Result<(), String> {
    const PACKETS: u64 = 120_000;
    let config = TopologyConfig {
        queue_packets: 100,
        medium: Some(medium),
        ..TopologyConfig::default()
    };
    let topology = create(&config)?;
    let socket = inside(&topology.device, || {
        UdpSocket::bind((address_of(1, false), 0)).unwrap()
    });
    for _ in 0..PACKETS {
        socket.send_to(&[0; 1_400], (SERVER_V4, 9)).unwrap();
    }
    let mut received = 0;
    while topology.device_port.receive(&mut [0; 2_000]).unwrap().is_some() {
        received += 1;
    }
    let drops = topology.device_port.drops().unwrap();
    assert!(received > 0 && received < PACKETS);
    assert_eq!(drops.transmitted, PACKETS - received);
    assert_eq!(drops.received, 0);
    assert_eq!(
        topology.device_port.drops().unwrap(),
        drops,
        "asking does not change the answer"
    );
    Ok(())
}

fn cubic_by_socket() -> Result<(), String> {
    let topology = create(&TopologyConfig::default())?;
    let listener = inside(&topology.server, || TcpListener::bind((SERVER_V4, 0)).unwrap());
    set_congestion_control(listener.as_fd(), "cubic").unwrap();
    Ok(())
}

/// The doctor's finding about veth must agree with its creation, and the doctor itself must leave no trace.
fn doctor() -> Result<(), String> {
    let link = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = link();
    let findings = wirecost_live::doctor::examine();
    assert_eq!(link(), before);
    let veth = findings.iter().find(|finding| finding.what == "veth").unwrap();
    let created = create(&TopologyConfig {
        medium: Some(Medium::Veth),
        ..TopologyConfig::default()
    });
    assert_eq!(created.is_ok(), veth.verdict != Verdict::Missing, "{findings:#?}");
    let topology = created?;
    let how = if topology.is_unprivileged {
        "in a user namespace"
    } else {
        "as root"
    };
    assert!(veth.detail.contains(how), "{}", veth.detail);
    assert_eq!(veth.verdict == Verdict::Works, topology.warnings.is_empty());
    assert_eq!(findings.len(), 10);
    Ok(())
}

fn threads_running() -> Result<(), String> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || held.recv());
    let error = Topology::create(&TopologyConfig::default()).unwrap_err();
    assert!(
        matches!(error, EnvironmentError::ThreadsRunning { threads: 2 }),
        "{error}"
    );
    drop(hold);
    assert!(thread.join().unwrap().is_err());
    Ok(())
}

/// The address of a device.
fn address_of(host: HostIndex, ipv6: bool) -> IpAddr {
    device_address(host, ipv6).expect("a device within the network")
}
