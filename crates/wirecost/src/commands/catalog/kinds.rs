//! The three kinds, and the line of each file in its list.

use std::time::Duration;

use serde_json::{Value, json};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::Charge;
use wirecost_energy::radio::Radio;
use wirecost_energy::{Device, State};
use wirecost_files::Input;
use wirecost_proto::units::counted;
use wirecost_proto::{BitRate, shown};
use wirecost_results::link_text::loss_text;
use wirecost_scenario::link::named::{self, NamedLink};
use wirecost_scenario::link::named_or_file;
use wirecost_scenario::{catalog, device, tariff};

use super::{Entry, Kind};
use crate::commands::cost::files;
use crate::commands::cost::table::number;
use crate::exit::Failure;

/// Links, for `--link`.
pub const LINKS: Kind = Kind {
    command: "links",
    option: "--link",
    heads: &["name", "RTT", "rate up", "rate down", "loss", ""],
    note: "",
    names: || named::CATALOG.files.iter().map(|(name, _)| *name).collect(),
    entry: |name| {
        let link = named_or_file(name).map_err(|error| match error {
            named::NamedLinkError::Unknown(unknown) => {
                Failure::usage(unknown.sentence()).with_hint(unknown.hint())
            }
            error => Failure::usage(error).with_hint(format!(
                "wirecost links NAME --out {name} writes one to start from"
            )),
        })?;
        Ok(Entry {
            text: link.text.clone(),
            row: link_row(&link).to_vec(),
            json: serde_json::to_value(&link).map_err(Failure::internal)?,
        })
    },
};

/// Devices, for `--device`.
pub const DEVICES: Kind = Kind {
    command: "devices",
    option: "--device",
    heads: &["name", "radio", "rest", "at rest", "transmit", "assumed", ""],
    note: "Power is current at the supply's voltage; assumed: figures without a source, of all.\n",
    names: || device::CATALOG.files.iter().map(|(name, _)| *name).collect(),
    entry: |name| {
        let (device, text) = files::read(Input::Device, &device::CATALOG, name, device::read)?;
        Ok(Entry {
            row: device_row(&device),
            json: json_of(&device.name, &device.title, &text)?,
            text,
        })
    },
};

/// Tariffs, for `--tariff`.
pub const TARIFFS: Kind = Kind {
    command: "tariffs",
    option: "--tariff",
    heads: &["name", "price", "", "counted in", ""],
    note: "",
    names: || tariff::CATALOG.files.iter().map(|(name, _)| *name).collect(),
    entry: |name| {
        let (tariff, text) = files::read(Input::Tariff, &tariff::CATALOG, name, tariff::read)?;
        Ok(Entry {
            row: tariff_row(&tariff),
            json: json_of(&tariff.name, &tariff.title, &text)?,
            text,
        })
    },
};

/// A year of 365 days, as in tariff files.
const YEAR_SECONDS: f64 = 365.0 * 86_400.0;

/// The name of a file without its folder and its ending.
fn short(file: &str) -> &str {
    let own = file.rsplit('/').next().unwrap_or(file);
    own.strip_suffix(".yaml").unwrap_or(own)
}

/// What a device or tariff file says, with the source of every figure.
fn json_of(file: &str, title: &str, text: &str) -> Result<Value, Failure> {
    let figures = catalog::figures(text)?;
    Ok(json!({"name": short(file), "file": file, "about": title, "values": figures}))
}

fn link_row(named: &NamedLink) -> [String; 6] {
    let link = named.link();
    let written = |key: &str| {
        let found = named.values.iter().find(|value| value.key == key);
        found.map(|value| value.value.clone())
    };
    let rate = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), shown::rate);
    let loss = match (written("loss"), written("loss_burst")) {
        (Some(loss), Some(_)) => format!("{loss} in bursts"),
        _ => loss_text(&link.up.loss),
    };
    let (name, about) = (named.name.clone(), named.about.clone());
    if link.cell.is_some() {
        let modelled = || "modelled".to_owned();
        return [name, modelled(), modelled(), modelled(), modelled(), about];
    }
    let rtt = shown::time(link.rtt());
    let (up, down) = (rate(link.up.rate), rate(link.down.rate));
    [name, rtt, up, down, loss, about]
}

fn device_row(device: &Device) -> Vec<String> {
    let radio = match device.radio {
        Radio::Wifi(_) => "Wi-Fi",
        Radio::Ethernet(_) => "Ethernet",
        Radio::Cellular(_) => "cellular",
        Radio::NbIot(_) => "NB-IoT",
    };
    let (assumed, all) = device.assumed();
    vec![
        short(&device.name).to_owned(),
        radio.to_owned(),
        device.rest.name().to_owned(),
        draw_of(device, device.rest),
        draw_of(device, State::Transmit),
        format!("{assumed} of {all}"),
        device.title.clone(),
    ]
}

/// The current of a state at the supply's voltage, and its power.
fn draw_of(device: &Device, state: State) -> String {
    let watts = device.level(state).watts;
    let scaled = |value: f64, unit: &str| match value {
        0.0 => format!("0 {unit}"),
        value if value < 1e-3 => format!("{} u{unit}", number(value * 1e6)),
        value if value < 1.0 => format!("{} m{unit}", number(value * 1e3)),
        value => format!("{} {unit}", number(value)),
    };
    format!("{} ({})", scaled(watts / device.volts, "A"), scaled(watts, "W"))
}

/// A size in the largest unit that gives a whole number.
fn size(bytes: u64) -> String {
    let units = [
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("B", 1),
    ];
    let unit = units.into_iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
    unit.map_or_else(String::new, |(name, unit)| format!("{} {name}", bytes / unit))
}

fn tariff_row(tariff: &Tariff) -> Vec<String> {
    let (per, unit) = match tariff.charge {
        Charge::Bytes {
            unit_bytes,
            period,
            price_bytes,
            ..
        } => {
            let unit = format!("{} a {}", size(unit_bytes), period.name());
            (size(price_bytes), unit)
        }
        Charge::Messages {
            unit_bytes,
            price_messages,
            ..
        } => (
            format!("{} messages", shown::grouped(price_messages)),
            format!("messages of {}", size(unit_bytes)),
        ),
    };
    let price = shown::money(&tariff.currency, tariff.price);
    let valid = tariff.valid_seconds.map_or_else(String::new, |seconds| {
        let years = seconds / YEAR_SECONDS;
        match years.fract() == 0.0 {
            true => format!(" and {}", counted(years as u64, "year")),
            false => format!(" and {}", shown::time(Duration::from_secs_f64(seconds))),
        }
    });
    let fee = match tariff.base_fee {
        0.0 => String::new(),
        fee => format!(", {} a month", shown::money(&tariff.currency, fee)),
    };
    let is_example = if tariff.is_sourced { "" } else { " (an example)" };
    vec![
        short(&tariff.name).to_owned(),
        price,
        format!("for {per}{valid}{fee}{is_example}"),
        unit,
        tariff.title.clone(),
    ]
}
