//! The forwarder's own load: it sleeps when it is idle, and stops even under a flood.

mod common;
#[allow(dead_code, reason = "the bench reads more of it")]
#[path = "../benches/forwarder/link.rs"]
mod link;

use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirecost_link::Medium;
use wirecost_live::{Side, Topology, TopologyConfig};
use wirecost_proto::hosts::{device_address, server_address};
use wirecost_proto::record::Record;

use common::{Case, User};
use link::{DEVICE, Link};

fn main() -> ExitCode {
    let case = |name, run| Case {
        name,
        needs: "root",
        user: User::Caller,
        run,
    };
    common::main(&[
        case("an_idle_forwarder_rests", idle),
        case("stops_in_the_middle_of_a_flood_over_tun", || {
            stop_in_a_flood(Medium::Tun)
        }),
        case("stops_in_the_middle_of_a_flood_over_veth", || {
            stop_in_a_flood(Medium::Veth)
        }),
        case(
            "what_is_on_its_way_at_the_end_is_recorded_and_not_delivered",
            end_on_the_way,
        ),
    ])
}

fn link(medium: Medium, delay: Duration) -> Result<Link, String> {
    let config = TopologyConfig {
        medium: Some(medium),
        ..TopologyConfig::default()
    };
    let topology = Topology::create(&config).map_err(|error| error.to_string())?;
    Link::start(topology, delay)
}

fn idle() -> Result<(), String> {
    let link = link(Medium::Tun, Duration::ZERO)?;
    std::thread::sleep(Duration::from_millis(500));
    let cpu = link.stop().statistics.cpu;
    // A loop that never sleeps would have taken half a second.
    assert!(cpu < Duration::from_millis(100), "{cpu:?}");
    Ok(())
}

/// Does `work` while datagrams are sent from the devices' side without a pause.
fn during_a_flood<T>(device: &Side, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let (first, begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            device.enter().expect("a namespace to enter");
            let address = device_address(DEVICE, false).expect("a device");
            let socket = UdpSocket::bind((address, 0)).expect("a port");
            let server = SocketAddr::new(server_address(false), 9);
            while !over.load(Ordering::Relaxed) {
                // No socket listens, and queues are full: both are part of a flood.
                let _ = socket.send_to(&[7; 64], server);
                let _ = first.send(());
            }
        });
        begun.recv().expect("a flood that begins");
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn stop_in_a_flood(medium: Medium) -> Result<(), String> {
    // The delay is so small that the forwarder never has a reason to sleep.
    let link = link(medium, Duration::from_micros(50))?;
    let device = link.device.clone();
    let finished = during_a_flood(&device, || {
        std::thread::sleep(Duration::from_millis(200));
        link.stop()
    });
    assert!(finished.statistics.entered > 100, "{:?}", finished.statistics);
    Ok(())
}

fn end_on_the_way() -> Result<(), String> {
    let link = link(Medium::Tun, Duration::from_secs(60))?;
    during_a_flood(&link.device, || std::thread::sleep(Duration::from_millis(20)));
    let mut finished = link.stop();
    let records = finished.recording.records().expect("a recording");
    let packets = records
        .filter(|record| matches!(record, Ok(Record::Packet(_))))
        .count() as u64;
    assert_eq!(
        (packets, finished.statistics.delivered),
        (finished.statistics.entered, 0)
    );
    assert!(packets > 0);
    Ok(())
}
