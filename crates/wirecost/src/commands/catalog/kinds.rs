//! The three kinds, and the line of each file in its list.

use serde_json::{Value, json};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::Charge;
use wirecost_energy::radio::Radio;
use wirecost_energy::{Device, State};
use wirecost_files::Input;
use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::{loss_text, rate_text};
use wirecost_scenario::link::named::{self, NamedLink};
use wirecost_scenario::link::named_or_file;
use wirecost_scenario::{ScenarioError, catalog, device, tariff};

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
    let figures = catalog::figures(text).map_err(ScenarioError::from)?;
    Ok(json!({"name": short(file), "file": file, "about": title, "values": figures}))
}

fn link_row(named: &NamedLink) -> [String; 6] {
    let link = named.link();
    let written = |key: &str| {
        let found = named.values.iter().find(|value| value.key == key);
        found.map(|value| value.value.clone())
    };
    let rate = |key: &str, rate| {
        let given = written(key).or_else(|| written("rate"));
        given.unwrap_or_else(|| rate_text(rate))
    };
    let loss = match (written("loss"), written("loss_burst")) {
        (Some(loss), Some(_)) => format!("{loss} in bursts"),
        _ => loss_text(&link.up.loss),
    };
    let (name, about) = (named.name.clone(), named.about.clone());
    if link.cell.is_some() {
        let modelled = || "modelled".to_owned();
        return [name, modelled(), modelled(), modelled(), modelled(), about];
    }
    let rtt = DisplayDuration(link.rtt()).to_string();
    let (up, down) = (rate("up.rate", link.up.rate), rate("down.rate", link.down.rate));
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

fn tariff_row(tariff: &Tariff) -> Vec<String> {
    let (per, counted) = match tariff.charge {
        Charge::Bytes {
            unit_bytes,
            period,
            price_bytes,
            ..
        } => {
            let unit = ByteSize::from_bytes(unit_bytes);
            let counted = format!("{unit} a {}", period.name());
            (format!("a {}", ByteSize::from_bytes(price_bytes)), counted)
        }
        Charge::Messages {
            unit_bytes,
            price_messages,
            ..
        } => (
            format!("{price_messages} messages"),
            format!("messages of {}", ByteSize::from_bytes(unit_bytes)),
        ),
    };
    let price = format!("{} {}", tariff.currency, number(tariff.price));
    let is_example = if tariff.is_sourced { "" } else { " (an example)" };
    vec![
        short(&tariff.name).to_owned(),
        price,
        format!("for {per}{is_example}"),
        counted,
        tariff.title.clone(),
    ]
}
