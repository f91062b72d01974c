//! What the attaches of a device take, in words.

use std::time::Duration;

use wirecost_energy::{Device, Part, Purposes};
use wirecost_proto::shown::{number, time};

/// What one attach takes, and its share of a mean power where one row is told; `None` where the device never loses its network.
pub fn words(device: &Device, power: Option<&Purposes>) -> Option<String> {
    let (attach, attached) = device.attach.zip(device.attached())?;
    let millicoulombs = |joules: f64| number(joules / device.volts * 1e3);
    let [search, procedure] = [attached.search, attached.procedure].map(|energy| energy.joules);
    let assumed = match attach.search {
        Some(_) => "",
        None => ", assumed",
    };
    let share = power.filter(|power| power.total().joules > 0.0).map(|power| {
        let part = power.of_part(Part::Attach).joules / power.total().joules;
        format!(", {:.1} % of the energy of the first row", part * 100.0)
    });
    Some(format!(
        "attach* every {}: {} mC in {} ({} mC of a search of {}{assumed}, {} mC of the procedure with its tails){}",
        time(attach.every),
        millicoulombs(search + procedure),
        time(rounded(attached.time)),
        millicoulombs(search),
        time(attach.search()),
        millicoulombs(procedure),
        share.unwrap_or_default()
    ))
}

/// A time to the millisecond.
const fn rounded(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
