//! The three kinds, and the line of each file in its list.

use std::time::Duration;

use serde_json::{Value, json};
use wirecost_cost::tariff::{Price, Rounding, TariffRule};
use wirecost_cost::{Tariff, What};
use wirecost_energy::radio::Radio;
use wirecost_energy::{Device, State};
use wirecost_files::Input;
use wirecost_proto::calendar::YEAR_SECONDS;
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
    // A cell has no fixed delay or rate: zeros would be read as its values.
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
        ("GiB", 1 << 30),
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
    let first = tariff.rules.first();
    let is_example = if tariff.is_sourced { "" } else { " (an example)" };
    let more = match tariff.rules.len() {
        0 | 1 => String::new(),
        all => format!(" and {}", counted(all as u64 - 1, "rule")),
    };
    vec![
        short(&tariff.name).to_owned(),
        first.map_or_else(String::new, |rule| price_of(tariff, rule)),
        first.map_or_else(String::new, |rule| {
            format!("{}{more}{is_example}", what_for(rule))
        }),
        first.map_or_else(String::new, counted_in),
        tariff.title.clone(),
    ]
}

/// The price of a rule, that of its first tier that is not free.
fn price_of(tariff: &Tariff, rule: &TariffRule) -> String {
    let price = match &rule.price {
        Price::Tiers { tiers, .. } => tiers
            .iter()
            .map(|tier| tier.price)
            .find(|price| *price > 0.0)
            .unwrap_or(0.0),
        Price::Daily { price, .. } | Price::Bundle { price, .. } => *price,
    };
    shown::money(&tariff.currency, price)
}

/// A number of what a rule counts, with its unit.
fn amount_of(rule: &TariffRule, number: f64) -> String {
    match rule.is_by_bytes() {
        true => size(number as u64),
        false if number == 1.0 => format!("1 {}", unit_of(rule).trim_end_matches('s')),
        false => format!("{} {}", shown::grouped(number as u64), unit_of(rule)),
    }
}

/// What a rule that counts no bytes counts, in words.
fn unit_of(rule: &TariffRule) -> &'static str {
    match rule.counts.as_slice() {
        [What::Minutes] => "minutes",
        [What::Fee] => "month",
        [one] => one.words(),
        _ => "messages",
    }
}

fn what_for(rule: &TariffRule) -> String {
    match &rule.price {
        Price::Tiers { per, .. } => format!("for {}", amount_of(rule, *per)),
        Price::Daily { size, .. } => format!("a month for {} a day", amount_of(rule, *size)),
        Price::Bundle {
            size, valid_seconds, ..
        } => {
            let years = valid_seconds / YEAR_SECONDS;
            let valid = match (valid_seconds.is_finite(), years.fract() == 0.0) {
                (false, _) => String::new(),
                (true, true) => format!(" and {}", counted(years as u64, "year")),
                (true, false) => format!(" and {}", shown::time(Duration::from_secs_f64(*valid_seconds))),
            };
            format!("for {}{valid}", amount_of(rule, *size))
        }
    }
}

fn counted_in(rule: &TariffRule) -> String {
    match rule.rounding {
        Rounding::Packets {
            unit_bytes, period, ..
        } => format!("{} a {}", size(unit_bytes), period.name()),
        Rounding::Units(unit) => format!("messages of {}", size(unit)),
        Rounding::AtLeast(least) => format!("messages, at least {}", size(least)),
        Rounding::Whole => unit_of(rule).to_owned(),
    }
}
