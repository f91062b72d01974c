//! What a device of a capture sends today.

use std::net::IpAddr;
use std::time::Duration;

use wirecost_account::Traffic;
use wirecost_dissect::Sightings;
use wirecost_energy::Device;
use wirecost_proto::units::counted;
use wirecost_scenario::options::life::MOST_READINGS;

use crate::arguments::WhatIfArguments;
use crate::commands::captures;
use crate::commands::cost::capture::{self, no_client};
use crate::commands::cost::table::time;
use crate::commands::readings::{self, Found, Hidden, Reading, Readings};
use crate::exit::Failure;

/// The most sizes that are simulated.
const MOST_SIZES: usize = 8;

/// What a device sends today.
pub struct Today {
    /// Its address.
    pub device: IpAddr,
    /// Readings that it sends.
    pub readings: u64,
    /// The median of their sizes, in bytes.
    pub size: u64,
    /// The sizes that are simulated, each with its number of readings.
    pub sizes: Vec<(u64, u64)>,
    /// The time from one reading to the next.
    pub every: Duration,
    /// Readings that it gets, and the median of their sizes.
    pub down: (u64, u64),
    /// Connections that it started.
    pub connects: u64,
    /// What it repeats.
    pub traffic: Traffic,
    /// Bytes of IP packets per reading, both ways, by layer.
    pub layers: [f64; 5],
    /// The fewest and the most readings that it may have sent.
    pub bounds: [u64; 2],
    /// How many readings were found, how, and how sure that is.
    pub counted: String,
    /// Whether the readings are payload; otherwise they are encrypted records.
    pub has_payload: bool,
    /// That most of the capture could not be read.
    pub unread: Option<Failure>,
    notes: Vec<String>,
}

impl Today {
    /// Finds the readings of a device in the capture.
    pub fn read(arguments: &WhatIfArguments, priced: Option<&Device>) -> Result<Self, Failure> {
        let (reading, sightings) = capture::open(&arguments.capture, arguments.keylog.as_deref())?;
        Self::of_packets(arguments, priced, (&reading, &sightings))
    }

    /// Finds them in a capture that was read.
    pub fn of_packets(
        arguments: &WhatIfArguments,
        priced: Option<&Device>,
        (reading, sightings): (&wirecost_dissect::Reading, &Sightings),
    ) -> Result<Self, Failure> {
        let shown = captures::name(&arguments.capture);
        // The answer compares bytes per reading: a cut-off end would make today cheaper than it is.
        if let Some(fault) = &reading.fault {
            return Err(Failure::usage(format!("{shown}: {fault}"))
                .with_hint("give a whole capture: the bytes of each reading are needed"));
        }
        let unread = || captures::mostly_unread(&arguments.capture, &reading.report);
        let device = device(sightings, arguments.client).ok_or_else(|| match arguments.client {
            Some(client) => no_client(&shown, client, sightings),
            // If most packets could not be read, that is why there is no device.
            None => unread().unwrap_or_else(|| none(&shown, "packets of a device".to_owned())),
        })?;
        let mut found = Readings::default();
        sightings.tell(device, &mut found);
        let mut notes = capture::of_capture(&reading.report);
        let of_device = found.found(Hidden::from_report(&reading.report));
        notes.extend(of_device.notes());
        let (counted, bounds) = (of_device.counted(), of_device.bounds());
        let has_payload = of_device.has_payload();
        let Found { readings: seen, .. } = of_device;
        let sizes: Vec<u64> = seen.iter().map(|(_, size)| *size).collect();
        let size = readings::median(sizes).ok_or_else(|| no_readings(&shown, device, &found))?;
        let every = every(arguments, device, &seen)?;
        notes.extend(others(sightings, device));
        notes.extend(of_sizes(&seen, size));
        if readings::is_irregular(&seen, every) {
            notes.push(format!(
                "the times between readings differ: all are simulated {} apart",
                time(every)
            ));
        }
        let count = seen.len() as u64;
        let (traffic, _) = capture::traffic((sightings, device), seen.len(), Some(every), priced);
        Ok(Self {
            device,
            traffic,
            readings: count,
            size,
            sizes: readings::sizes(&seen, MOST_SIZES),
            every,
            down: down(&found),
            connects: found.connects,
            layers: found.layers.map(|bytes| bytes as f64 / count as f64),
            bounds,
            counted,
            has_payload,
            unread: unread(),
            notes,
        })
    }

    /// Readings of a connection.
    pub fn per_connection(&self) -> u64 {
        match self.readings / self.connects.max(1) {
            0 | 1 => self.readings,
            each => each,
        }
    }

    /// What the simulation assumes.
    pub fn assumed(&self, devices: u32) -> Vec<String> {
        let sizes = match self.sizes.as_slice() {
            [(size, _)] => format!("{size} B"),
            sizes => format!("{} sizes in their shares,", sizes.len()),
        };
        let mut notes = vec![
            self.counted.clone(),
            "bytes: IP packets per reading, both ways, with its share of connects, keep-alives and closes"
                .to_owned(),
            format!(
                "simulated: {}, {sizes} every {}, up, with wirecost's own client and server; another client's topic, client ID, options and certificates have other lengths",
                counted(devices.into(), "device"),
                time(self.every)
            ),
        ];
        notes.extend(self.notes.iter().cloned());
        if let (count @ 1.., size) = self.down {
            notes.push(format!(
                "{} down (median {size} B) are not simulated; their bytes count as today's",
                counted(count, "reading")
            ));
        }
        if self.per_connection() > MOST_READINGS {
            notes.push(format!(
                "a persistent connection has {MOST_READINGS} readings, not more"
            ));
        }
        notes
    }
}

fn none(shown: &str, what: String) -> Failure {
    Failure::usage(format!("{shown} has no {what}"))
        .with_hint("give a capture in which the device sends payload; wirecost pcap shows what is in it")
}

fn no_readings(shown: &str, device: IpAddr, found: &Readings) -> Failure {
    match down(found) {
        (0, _) => none(shown, format!("readings of {device}")),
        (count, size) => Failure::usage(format!(
            "{shown} has no readings that {device} sends, only {} of {size} B that it gets",
            counted(count, "reading")
        ))
        .with_hint(
            "name the device that sends them with --client: stacks are simulated from the sender's side",
        ),
    }
}

/// The device asked for, or the one with the most bytes.
pub fn device(sightings: &Sightings, client: Option<IpAddr>) -> Option<IpAddr> {
    let devices = sightings.devices().into_iter();
    let wanted = devices.filter(|(address, _)| client.is_none_or(|client| client == *address));
    wanted.max_by_key(|(_, bytes)| *bytes).map(|(address, _)| address)
}

fn others(sightings: &Sightings, device: IpAddr) -> Option<String> {
    let others = sightings.devices().into_keys().filter(|other| *other != device);
    let named: Vec<String> = others.map(|other| other.to_string()).collect();
    let first = named.first()?;
    Some(format!(
        "{} in the capture left out, e.g. --client {first}",
        counted(named.len() as u64, "other device")
    ))
}

fn every(arguments: &WhatIfArguments, device: IpAddr, seen: &[Reading]) -> Result<Duration, Failure> {
    let every = arguments.every.or_else(|| readings::interval(seen));
    every.ok_or_else(|| {
        Failure::usage(format!("the readings of {device} have no interval"))
            .with_hint("say how often they are sent with --every, e.g. --every 15min")
    })
}

fn of_sizes(seen: &[Reading], median: u64) -> Option<String> {
    let sizes = || seen.iter().map(|(_, size)| *size);
    let (least, most) = (sizes().min()?, sizes().max()?);
    let simulated = readings::sizes(seen, MOST_SIZES);
    let whole = readings::sizes(seen, usize::MAX).len();
    match (simulated.len(), whole) {
        (_, 1) => None,
        (some, all) if some < all => Some(format!(
            "the sizes differ: {least} B to {most} B, {median} B is their median; {some} means of equal parts are simulated"
        )),
        _ => Some(format!(
            "the sizes differ: {least} B to {most} B, {median} B is their median; each is simulated"
        )),
    }
}

/// The number of readings that a device gets, and the median of their sizes.
fn down(found: &Readings) -> (u64, u64) {
    let sizes: Vec<u64> = found.down.iter().map(|(_, size)| *size).collect();
    (sizes.len() as u64, readings::median(sizes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_only_gets_readings_is_named() {
        let mut found = Readings::default();
        found.down.push((wirecost_proto::Instant::from_nanos(1), 20));
        let failure = no_readings("a.pcap", IpAddr::from([10, 0, 0, 1]), &found);
        assert!(
            failure
                .to_string()
                .contains("only 1 reading of 20 B that it gets"),
            "{failure}"
        );
    }
}
