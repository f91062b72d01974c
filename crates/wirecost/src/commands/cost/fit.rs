//! `--fit`: a device file from the trace of a power meter and the capture of the same time.

mod file;

use std::path::Path;
use std::process::ExitCode;

use wirecost_cost::{ObservedPacket, Observer};
use wirecost_energy::fit::align::Misaligned;
use wirecost_energy::fit::bins::TraceBins;
use wirecost_energy::fit::{self, BurstPacket, Clocks, Fitted, NotFitted};
use wirecost_files::Input;
use wirecost_proto::Instant;
use wirecost_proto::date::{SECONDS_OF_A_DAY, date_of};
use wirecost_proto::units::counted;
use wirecost_report::residual;
use wirecost_scenario::device;

use super::table::number;
use super::{capture, files, recording};
use crate::arguments::CostArguments;
use crate::commands::captures;
use crate::exit::{self, Failure};
use crate::output;

/// Prints the device file, and says on stderr what it rests on.
pub fn run(arguments: &CostArguments, trace: &Path) -> Result<ExitCode, Failure> {
    if !arguments.source.as_os_str().is_empty() {
        return Err(
            Failure::usage("--fit reads the capture of --capture, and nothing else")
                .with_hint("leave out the file without an option"),
        );
    }
    let (Some(capture), Some(name)) = (&arguments.capture, &arguments.device) else {
        return Err(Failure::usage("--fit needs --capture and --device"));
    };
    // Before the trace, which may be long: a path that cannot be written would lose the work.
    output::check_files(&[("--residual", arguments.residual.as_deref())])?;
    let (base, text) = files::read(Input::Device, &device::CATALOG, name, device::read)?;
    let (packets, year) = packets(arguments, capture)?;
    let read = recording::read(trace, arguments)?;
    // Two clocks that no one set: a pin that the device raises as it sends says how far apart they are, else the bursts have to fit.
    let clock = match arguments.marker_channel {
        Some(_) => Clocks::Marker(&read.markers),
        None => Clocks::Pattern,
    };
    let shown = trace.display();
    let fitted = fit::fit(&read.bins, &packets, &base, clock)
        .map_err(|refused| Failure::usage(format!("{shown}: {refused}")).with_hint(hint_of(&refused)))?;
    let source = format!("{shown} beside {}, {year}", capture.display());
    let text = file::with(&text, &fitted, (&source, read.bins.volts));
    // What is printed can be read again.
    device::read("fitted", &text).map_err(|error| Failure::from(error.in_file(&shown.to_string())))?;
    output::text(text);
    for line in said(&fitted, &read.bins, arguments.marker_channel.as_deref()) {
        output::note(line);
    }
    if let Some(path) = &arguments.residual {
        let milliamperes = |watts: f64| watts / read.bins.volts * 1e3;
        let points = fitted
            .mean_burst
            .iter()
            .map(|[at, measured, modelled]| [*at, milliamperes(*measured), milliamperes(*modelled)]);
        let svg = residual::draw(&points.collect::<Vec<[f64; 3]>>());
        wirecost_files::output::write_named(path, svg)
            .map_err(|error| output::unwritable("--residual", path, &error))?;
    }
    Ok(ExitCode::from(exit::OK))
}

/// What to do about a refusal.
const fn hint_of(refused: &NotFitted) -> &'static str {
    match refused {
        NotFitted::TooFew(_) => "capture and measure at least three messages, with rest between them",
        NotFitted::Misaligned(Misaligned::Ambiguous { .. }) => {
            "wire a digital channel of the meter to the device and name it with --marker-channel, or send at uneven times"
        }
        NotFitted::Misaligned(Misaligned::Apart { .. }) | NotFitted::Unexplained(_) => {
            "give the trace and the capture of one device and one time, or name the device with --client"
        }
        NotFitted::NoWakeUp | NotFitted::NoTail(_) => {
            "begin with a device file that has the states of your device (wirecost devices NAME --out FILE)"
        }
    }
}

/// The packets of the only device of a capture, and the year of the first one.
fn packets(arguments: &CostArguments, path: &Path) -> Result<(Vec<BurstPacket>, u64), Failure> {
    let (_, sightings) = capture::open(path, arguments.keylog.as_deref())?;
    let shown = captures::name(path);
    let devices = sightings.devices();
    let address = match arguments.client {
        Some(client) if devices.contains_key(&client) => client,
        Some(client) => return Err(capture::no_client(&shown, client, &sightings)),
        None => match devices.keys().collect::<Vec<_>>()[..] {
            // With more than one device in the capture, nobody could tell whose bursts the meter saw.
            [only] => *only,
            _ => {
                let count = counted(devices.len() as u64, "device");
                return Err(
                    Failure::usage(format!("a meter measures one device, and {shown} has {count}"))
                        .with_hint("name one with --client"),
                );
            }
        },
    };
    let mut packets = Packets::default();
    sightings.tell(address, &mut packets);
    let since_1970 = packets.first.map_or(0, |first| first.as_nanos() / 1_000_000_000);
    let (year, ..) = date_of(since_1970 / SECONDS_OF_A_DAY);
    Ok((packets.all, year))
}

/// Keeps packets with their seconds since the first one.
#[derive(Default)]
struct Packets {
    first: Option<Instant>,
    all: Vec<BurstPacket>,
}

impl Observer for Packets {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let first = *self.first.get_or_insert(packet.at);
        self.all.push(BurstPacket {
            at: packet.at.saturating_since(first).as_secs_f64(),
            direction: packet.direction,
            bytes: packet.wire_bytes(),
        });
    }
}

/// What the file rests on.
fn said(fitted: &Fitted, bins: &TraceBins, marker: Option<&str>) -> Vec<String> {
    let mut lines = vec![format!(
        "fitted to {}; {} left out; {:.1} % of the charge above rest is not explained",
        counted(fitted.bursts as u64, "burst"),
        fitted.left_out,
        fitted.unexplained * 100.0
    )];
    lines.push(match (fitted.delay, marker) {
        (Some(delay), Some(channel)) => format!(
            "clocks: by {channel}; the trace is {} s ahead of the time since the capture's first packet; the first frame of a burst comes {} ms after {channel}",
            number(fitted.shift),
            number(delay * 1e3)
        ),
        _ => format!(
            "clocks: by the pattern of the bursts; the trace is {} s ahead of the time since the capture's first packet; the delay of the capture is in that, and is not known",
            number(fitted.shift)
        ),
    });
    let averaged = match bins.is_averaged {
        true => ", each the mean of several samples: the trace is long",
        false => "",
    };
    lines.push(format!(
        "trace: {} bins of {} ms{averaged}; {} left out; {} V in the mean",
        bins.len(),
        number(bins.width * 1e3),
        counted(bins.gaps, "gap"),
        number(bins.volts)
    ));
    let alone = fitted.figures.iter().filter(|figure| figure.is_charge_alone);
    lines.extend(alone.map(|figure| {
        format!(
            "{} is shorter than two samples: its charge alone is fitted, and its power is that over the time of the model",
            file::name(figure.of)
        )
    }));
    lines
}
