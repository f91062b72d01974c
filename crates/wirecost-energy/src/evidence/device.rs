//! A device file beside the events that were measured of its chip: how sure a life is that it models.

use core::time::Duration;

use wirecost_cost::{ObservedPacket, Observer as _};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

use super::errors::factor;
use crate::device::Device;
use crate::measurement::{Does, Point, Publication, Radio, Use};
use crate::meter::Meter;
use crate::network::Settings;

/// When an answer is there, where no publication says it.
const ANSWER: Duration = Duration::from_millis(100);

/// How far a device file is from the events of its chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// The factor, either way, within which 80 % of such events are.
    pub factor: f64,
    /// How many measured events of its chip there are.
    pub events: usize,
    /// Whether none of them says TX power.
    pub is_power_unknown: bool,
}

/// A device file beside the events of its chip in live networks, each with the timers that it was measured with; `None` where fewer
/// than two were measured.
pub fn beside(device: &Device, publications: &[Publication]) -> Option<Beside> {
    let mut ratios = Vec::new();
    let mut is_power_unknown = true;
    for publication in publications {
        let of_chip = publication.points.iter().filter(|point| is_of(device, point));
        for point in of_chip {
            let Some(ratio) = ratio(device, point) else {
                continue;
            };
            ratios.push(ratio);
            is_power_unknown &= point.settings.tx_power.is_none();
        }
    }
    Some(Beside {
        factor: factor(&ratios)?,
        events: ratios.len(),
        is_power_unknown,
    })
}

/// Whether a point is an event of the device's chip on its radio, in a live network.
fn is_of(device: &Device, point: &Point) -> bool {
    let radio = match device.radio {
        crate::Radio::Cellular(_) => Radio::LteM,
        crate::Radio::NbIot(_) => Radio::NbIot,
        crate::Radio::Wifi(_) => Radio::Wifi,
        crate::Radio::Ethernet(_) => Radio::None,
    };
    let is_chip = device.chip.as_deref() == Some(point.device.as_str());
    is_chip && point.radio == radio && point.usage == Use::Event && point.is_judged() && !point.is_bench
}

/// The modelled energy over the measured one. A charge without a voltage is one at that of the device.
fn ratio(device: &Device, point: &Point) -> Option<f64> {
    let joules = point.charge()? * point.supply.unwrap_or(device.volts);
    let settings = Settings {
        active: point.settings.active,
        inactivity: point.settings.inactivity,
        rai: point.settings.rai.unwrap_or(false),
        ..Settings::default()
    };
    // A point with timers that the device file cannot have says nothing about the file.
    let device = device.clone().set(&settings).ok()?;
    let packets: &[(Duration, Direction, u64)] = match point.does? {
        Does::Update => {
            let each = device.update();
            let spent = each.map(|(_, level, time)| level.watts * time.as_secs_f64());
            return Some(spent.sum::<f64>() / joules);
        }
        Does::OneWay => &[(Duration::ZERO, Direction::Up, point.up)],
        Does::Exchange => &[
            (Duration::ZERO, Direction::Up, point.up),
            (ANSWER, Direction::Down, point.down),
        ],
        // The file has no figure of registration, which these events contain.
        Does::OnOff | Does::Attach | Does::Connect | Does::Boot | Does::Join | Does::Datagram => return None,
    };
    let mut meter = Meter::new(&device);
    for (at, direction, bytes) in packets {
        let spans = [Span {
            len: u32::try_from(*bytes).ok()?,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        }];
        meter.packet(&ObservedPacket {
            at: Instant::from_millis(0) + *at,
            direction: *direction,
            phase: Phase::Message,
            cause: Cause::Original,
            spans: &spans,
        });
    }
    Some(meter.finish().total().joules / joules)
}
