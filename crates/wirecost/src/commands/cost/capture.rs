//! What is priced of a capture: its devices.

use std::iter;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use wirecost_account::traffic::Activity;
use wirecost_account::{Cycle, Packets, Traffic, Way};
use wirecost_cost::{Observed, Observer};
use wirecost_dissect::{Report, Sightings};
use wirecost_energy::Device;
use wirecost_files::FileFault;
use wirecost_proto::units::counted;

use super::table::time;
use super::traffic::Source;
use crate::arguments::CostArguments;
use crate::commands::captures;
use crate::commands::readings::{self, Hidden, Reading, Readings};
use crate::exit::Failure;

/// The most devices of a capture that have rows.
const MAX_DEVICES: usize = 40;

/// Reads a capture with the secrets of a key log. Every packet has a time.
pub fn open(path: &Path, key_log: Option<&Path>) -> Result<(wirecost_dissect::Reading, Sightings), Failure> {
    let unreadable = |path: &Path, error: FileFault| {
        Failure::usage(format!("cannot read {}: {error}", captures::name(path)))
            .with_hint("give a capture file, or the results folder of a comparison")
    };
    captures::no_folder(path)?;
    let source = captures::source(path).map_err(|error| unreadable(path, error))?;
    let keys = key_log.unwrap_or(Path::new(""));
    let key_log = captures::key_log(key_log).map_err(|error| unreadable(keys, error))?;
    let capture = wirecost_dissect::observe(source, &key_log).map_err(|error| {
        Failure::usage(format!("{}: {error}", captures::name(path)))
            .with_hint("give a file that tcpdump, dumpcap or Wireshark wrote, or the folder of a comparison")
    })?;
    timed(path, &capture.1)?;
    Ok(capture)
}

/// Refuses packets without a time, as in simple packet blocks of pcapng.
pub fn timed(path: &Path, sightings: &Sightings) -> Result<(), Failure> {
    if sightings.untimed() == 0 {
        return Ok(());
    }
    let untimed = counted(sightings.untimed(), "packet");
    let text = format!("{}: {untimed} without a time", captures::name(path));
    Err(Failure::usage(text).with_hint("capture with times: energy depends on when a packet is sent"))
}

/// Reads the devices of the capture that the command line names.
pub fn read(arguments: &CostArguments, device: Option<&Device>) -> Result<Source, Failure> {
    let (reading, sightings) = open(&arguments.source, arguments.keylog.as_deref())?;
    of_packets(arguments, device, (&reading, &sightings))
}

/// The devices of a capture that was read.
pub fn of_packets(
    arguments: &CostArguments,
    device: Option<&Device>,
    (reading, sightings): (&wirecost_dissect::Reading, &Sightings),
) -> Result<Source, Failure> {
    let mut source = Source {
        fault: reading.fault.as_ref().map(ToString::to_string),
        unread: captures::mostly_unread(&arguments.source, &reading.report),
        ..Source::default()
    };
    let left_out = |in_flow| {
        let unattributed = reading.report.unattributed.iter();
        unattributed.filter(move |left| left.in_flow == in_flow)
    };
    let other: u64 = left_out(false).map(|left| left.packets).sum();
    if other > 0 {
        let bytes: u64 = left_out(false).map(|left| left.bytes).sum();
        source.notes.push(format!(
            "{} ({bytes} B) belong to no device: no figure has them (wirecost pcap says what they are)",
            counted(other, "packet")
        ));
    }
    source.notes.extend(of_capture(&reading.report));
    let undescribed: u64 = left_out(true).map(|left| left.bytes).sum();
    if undescribed > 0 {
        source.notes.push(format!(
            "{} could not be described (wirecost pcap says why): they count as application, and their messages are not seen",
            counted(undescribed, "byte")
        ));
    }
    devices(arguments, device, (&reading.report, sightings), &mut source)?;
    // Where something could be priced it is shown first, and the failure told behind it.
    match source.unread.take_if(|_| source.traffic.is_empty()) {
        Some(failure) => Err(failure),
        None => Ok(source),
    }
}

/// What makes the capture differ from what was on the link.
pub fn of_capture(report: &Report) -> Vec<String> {
    let packets = |count| counted(count, "packet");
    let mut notes = Vec::new();
    if report.offload.oversized_packets > 0 {
        notes.push(format!(
            "{} larger than the receiver accepts, as before segmentation offload: the link had {} B of headers more",
            packets(report.offload.oversized_packets),
            report.offload.missing_header_bytes
        ));
    }
    if report.copies.packets > 0 {
        notes.push(format!(
            "{} that several interfaces of the capture saw count once",
            packets(report.copies.packets)
        ));
    }
    if report.lost_packets > 0 {
        notes.push(format!(
            "the capture itself lost {}, as the file says: no figure has them",
            packets(report.lost_packets)
        ));
    }
    notes
}

/// The failure of a capture without packets of the device that was asked for.
pub fn no_client(shown: &str, client: IpAddr, sightings: &Sightings) -> Failure {
    let mut others = sightings.devices().into_keys();
    let hint = others.next().map_or_else(
        || "wirecost pcap shows what is in it".to_owned(),
        |first| match others.count() {
            0 => format!("its only device is {first}"),
            more => format!("it has {}, e.g. {first}", counted(more as u64 + 1, "device")),
        },
    );
    Failure::usage(format!("{shown} has no packets of {client}")).with_hint(hint)
}

/// What `--interval` makes of the readings of a device, where that is not what was recorded.
fn repeated(readings: &[Reading], interval: Option<Duration>) -> Option<String> {
    let interval = interval?;
    let as_recorded = readings::interval(readings).filter(|_| !readings::is_irregular(readings, interval));
    if as_recorded.is_some() {
        return None;
    }
    Some(match readings.len() {
        0 => format!(
            "no reading was found, so that the whole capture is repeated every {}",
            time(interval)
        ),
        1 => format!("the capture is repeated every {}, as one reading", time(interval)),
        count => format!(
            "one of the {count} readings every {}, with its share of the capture as it was recorded",
            time(interval)
        ),
    })
}

/// Adds the devices of a capture, most bytes first.
fn devices(
    arguments: &CostArguments,
    device: Option<&Device>,
    (report, sightings): (&Report, &Sightings),
    source: &mut Source,
) -> Result<(), Failure> {
    let mut found: Vec<_> = sightings.devices().into_iter().collect();
    // With the address, so that devices of equal bytes have the same order each time.
    found.sort_by_key(|(address, bytes)| (std::cmp::Reverse(*bytes), *address));
    if let Some(client) = arguments.client {
        found.retain(|(address, _)| *address == client);
        if found.is_empty() {
            return Err(no_client(
                &arguments.source.display().to_string(),
                client,
                sightings,
            ));
        }
    }
    if found.len() > MAX_DEVICES {
        let left_out = found.len() - MAX_DEVICES;
        source
            .notes
            .push(format!("{left_out} more devices with fewer bytes are left out"));
        found.truncate(MAX_DEVICES);
    }
    // What is so of many devices is said once.
    let mut told: Vec<(String, Vec<IpAddr>)> = Vec::new();
    for (address, _) in found {
        let tell = |observer: &mut dyn Observer| sightings.tell(address, &mut { observer });
        let mut readings = Readings::default();
        sightings.tell(address, &mut readings);
        let found = readings.found(Hidden::from_report(report));
        let repeated = repeated(&found.readings, arguments.interval);
        for note in iter::once(found.counted()).chain(repeated) {
            match told.iter_mut().find(|(text, _)| *text == note) {
                Some((_, devices)) => devices.push(address),
                None => told.push((note, vec![address])),
            }
        }
        // A capture of acknowledgements alone is priced as one reading, and not divided by zero.
        let readings = found.readings.len().max(1);
        let (priced, observed) = traffic((sightings, address), readings, arguments.interval, device);
        if arguments.interval.is_none() && observed.duration().is_zero() {
            return Err(Failure::usage(format!(
                "all packets of {address} have the same time, so they have no rate"
            ))
            .with_hint("say how often they are sent with --interval"));
        }
        let priced = Traffic {
            activity: device.map(|device| Activity::observe(device, tell)),
            ..priced
        };
        let is_drawn = arguments.curve.is_some() || arguments.day_curve.is_some();
        source.add(priced, || {
            is_drawn.then(|| {
                let mut packets = Packets::default();
                sightings.tell(address, &mut packets);
                packets
            })
        });
    }
    let notes = told
        .into_iter()
        .map(|(text, of)| format!("{}: {text}", names(&of)));
    source.notes.extend(notes);
    Ok(())
}

/// One device or two by their addresses, more by the first and their number.
fn names(devices: &[IpAddr]) -> String {
    match devices {
        [] => String::new(),
        [one] => one.to_string(),
        [one, other] => format!("{one} and {other}"),
        [one, others @ ..] => format!("{one} and {} others", others.len()),
    }
}

/// The traffic of a device of the capture with its `readings`, which come `every` so often; without that the capture follows on
/// itself.
pub fn traffic(
    (sightings, address): (&Sightings, IpAddr),
    readings: usize,
    every: Option<Duration>,
    device: Option<&Device>,
) -> (Traffic, Observed) {
    let period = every.map(|every| every.as_secs_f64() * readings as f64);
    let (cycle, observed) = Cycle::metered(device, period, |mut observer| {
        sightings.tell(address, &mut observer)
    });
    let cycle = Cycle {
        readings: readings as f64,
        ..cycle
    };
    let traffic = Traffic {
        label: address.to_string(),
        stack: None,
        way: match every {
            Some(_) => Way::Repeated,
            None => Way::Captured,
        },
        interval: cycle.every / cycle.readings,
        keep_alive: None,
        cycles: vec![cycle],
        time: None,
        activity: None,
    };
    (traffic, observed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_devices_are_named_by_the_first() {
        let devices: Vec<IpAddr> = (1..=4).map(|last| IpAddr::from([10, 77, 0, last])).collect();
        let named = [1, 2, 4].map(|count| names(devices.get(..count).expect("so many")));
        assert_eq!(
            named,
            ["10.77.0.1", "10.77.0.1 and 10.77.0.2", "10.77.0.1 and 3 others"]
        );
    }
}
