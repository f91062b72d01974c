//! The memory that a device takes, by stack and engine, and whether the devices of loads fit into what is left.
//!
//! The figures are measured, and rounded. In virtual time: what the whole simulation holds for one more device while each device
//! connects and sends two messages within 40 s over a round trip of 50 ms, the server's side and the packets between them included; `tests/footprint.rs` measures each of
//! them again. Live: the growth of the resident memory of generator and built-in server between 500 and 2,000 devices that send
//! a message every two seconds, by `generator` and `target_use` of `summary.json`; the program's test `load_memory` measures some
//! of them again. A channel's figure is what it adds to that of its application. A certificate of a device's own,
//! with the authorities that the device then keeps, is not in the figures.

use std::net::IpAddr;

use wirecost_live::limits::{LimitError, check_memory};
use wirecost_live::room::Room;
use wirecost_proto::bare::Transport;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};
use wirecost_stack::{Application, Channel};

use super::worlds;

/// Bytes of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    /// All of it in virtual time.
    simulated: u64,
    /// In the generator.
    generator: u64,
    /// In the built-in server.
    server: u64,
}

const fn bytes(simulated: u64, generator: u64, server: u64) -> Bytes {
    Bytes {
        simulated,
        generator,
        server,
    }
}

const fn of_application(application: Application) -> Bytes {
    match application {
        Application::Tcp => bytes(2_000, 900, 400),
        Application::Udp => bytes(800, 300, 100),
        Application::Mqtt311(_) | Application::Mqtt5(_) => bytes(2_400, 1_100, 1_000),
        Application::MqttSn(_) => bytes(1_800, 1_400, 600),
        Application::CoapNon | Application::CoapCon => bytes(1_400, 3_700, 300),
        Application::CoapTcp => bytes(3_200, 4_400, 500),
        Application::AmqpSettled | Application::AmqpUnsettled => bytes(7_000, 1_800, 4_500),
        Application::Http1 => bytes(3_000, 800, 1_500),
        Application::Http3 => bytes(69_000, 35_000, 43_000),
        Application::Store(_) => bytes(3_000, 1_500, 1_500),
    }
}

const fn of_channel(channel: Channel) -> Bytes {
    match channel {
        Channel::Plain => bytes(0, 0, 0),
        Channel::Tls13 | Channel::Tls12 => bytes(21_000, 15_000, 9_300),
        Channel::Dtls13 => bytes(37_600, 25_000, 17_000),
        Channel::Dtls12 => bytes(26_000, 18_500, 10_700),
        Channel::Dtls12Psk | Channel::Dtls12Cid => bytes(11_900, 8_000, 4_000),
        Channel::Oscore => bytes(2_400, 2_500, 1_200),
    }
}

/// What a device with a simulated TCP connection takes more while neither it nor an end of the connection is at rest. The test measures
/// it too.
const fn of_awake(application: Application) -> u64 {
    match application {
        Application::Tcp | Application::Http1 => 1_100,
        Application::Udp
        | Application::MqttSn(_)
        | Application::CoapNon
        | Application::CoapCon
        | Application::Http3 => 0,
        Application::Mqtt311(_)
        | Application::Mqtt5(_)
        | Application::CoapTcp
        | Application::AmqpSettled
        | Application::AmqpUnsettled
        | Application::Store(_) => 2_600,
    }
}

/// What the kernel holds for a socket. 100,000 idle MQTT connections over loopback took 790 MB for both sides and their kernel; the
/// slab memory of 18,000 datagram sockets is 0.6 of that of as many stream sockets.
const fn of_socket(transport: Transport) -> u64 {
    match transport {
        Transport::Stream => 2_900,
        Transport::Datagram => 1_800,
    }
}

/// The bytes that a device of a load takes on this machine, with the server's side if the server is here.
pub fn bytes_of_a_device(options: &LoadOptions) -> u64 {
    let stack = options.stack;
    let parts = [of_application(stack.application), of_channel(stack.channel)];
    let sum = |bytes: fn(&Bytes) -> u64| parts.iter().map(bytes).sum::<u64>();
    let transport = stack.transport();
    if options.engine == LoadEngine::Sim {
        // Without a round trip all devices connect at one instant, in which no connection comes to rest.
        let awake = match options.link {
            None => of_awake(stack.application),
            Some(_) => 0,
        };
        return sum(|bytes| bytes.simulated) + awake;
    }
    let own_socket = match options.shared_socket {
        true => 0,
        false => of_socket(transport),
    };
    // All peers of a datagram service share its socket.
    let socket_of_server = match transport {
        Transport::Stream => of_socket(transport),
        Transport::Datagram => 0,
    };
    let of_server = match &options.target {
        LoadTarget::Started(target) if target.is_builtin() => sum(|bytes| bytes.server) + socket_of_server,
        LoadTarget::Started(_) => socket_of_server,
        LoadTarget::Url(url) if is_here(&url.host) => socket_of_server,
        LoadTarget::Url(_) => 0,
    };
    sum(|bytes| bytes.generator) + own_socket + of_server
}

/// Whether a server at this host is on this machine, as far as the name or the address says.
fn is_here(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

/// Checks whether the devices of each load fit into the memory that this process can still take; `ends_early` if a threshold can end
/// the loads.
///
/// # Errors
/// Those of a load do not. The error says how many would.
pub fn check(loads: impl IntoIterator<Item = LoadOptions>, ends_early: bool) -> Result<(), LimitError> {
    let room = Room::read();
    loads
        .into_iter()
        .try_for_each(|load| fits(&load, ends_early, room))
}

fn fits(load: &LoadOptions, ends_early: bool, room: Room) -> Result<(), LimitError> {
    // Of worlds that share nothing, only those that run are in memory.
    let clients = worlds::devices_at_once(load, ends_early, worlds::cpus(load));
    let receivers = load.receivers().into();
    let is_live = load.engine == LoadEngine::Live;
    check_memory(
        (clients, receivers, load.stack.to_string()),
        bytes_of_a_device(load),
        room,
        is_live,
    )
}

#[cfg(test)]
mod tests {
    use wirecost_live::room::Holder;
    use wirecost_stack::target::Target;

    use super::*;

    const ROOM: Room = Room {
        bytes: 16_000_000_000,
        holder: Holder::Machine,
    };

    fn said(stack: &str, engine: LoadEngine, clients: u32) -> Result<(), String> {
        let stack = stack.parse().expect("a stack");
        let load = LoadOptions {
            engine,
            clients,
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        fits(&load, false, ROOM).map_err(|error| format!("{error}; {}", error.way_out()))
    }

    #[test]
    fn more_devices_than_memory_are_refused_with_what_fits() {
        assert_eq!(said("coap-con", LoadEngine::Sim, 1_000_000), Ok(()));
        let too_many = said("mqtt-qos1", LoadEngine::Sim, 10_000_000).expect_err("too many");
        let expected = "10,000,000 devices of mqtt-qos1 need about 50.0 GB of memory, and this machine has 16.0 GB left; \
                        --clients 3200000 fits";
        assert_eq!(too_many, expected);
    }

    #[test]
    fn devices_that_receive_are_no_clients_that_fit() {
        let said = |receivers| {
            check_memory((4_000_000, receivers, "udp".into()), 8_000, ROOM, false)
                .expect_err("too many")
                .way_out()
        };
        assert_eq!(said(500_000), "--clients 1500000 fits");
        assert_eq!(said(2_000_000), "fewer --subscribers, or a stack that takes less");
    }

    #[test]
    fn a_live_device_takes_less_than_a_simulated_one_and_can_go_to_another_machine() {
        assert_eq!(said("mqtt-qos1+tls1.3", LoadEngine::Live, 400_000), Ok(()));
        let too_many = said("mqtt-qos1+tls1.3", LoadEngine::Live, 1_000_000).expect_err("too many");
        assert!(
            too_many.ends_with("; --clients 496000 fits; --agents divides more among machines"),
            "{too_many}"
        );
    }

    #[test]
    fn a_server_elsewhere_takes_nothing_here() {
        let bytes = |target: LoadTarget| {
            bytes_of_a_device(&LoadOptions::new("mqtt-qos1".parse().expect("a stack"), target))
        };
        let url = |text: &str| LoadTarget::Url(text.parse().expect("a URL"));
        assert_eq!(bytes(url("mqtt://broker.example/a")), 1_100 + 2_900);
        for here in ["mqtt://127.0.0.1/a", "mqtt://[::1]/a", "mqtt://localhost/a"] {
            assert_eq!(bytes(url(here)), 1_100 + 2 * 2_900, "{here}: its socket is here");
        }
        assert_eq!(
            bytes(LoadTarget::Started(Target::Builtin)),
            1_100 + 1_000 + 2 * 2_900
        );
        assert_eq!(bytes(LoadTarget::Started(Target::Mosquitto)), 1_100 + 2 * 2_900);
    }
}
