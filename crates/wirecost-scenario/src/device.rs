//! Device files: power states, timers and radio of a device, each figure with its source.

pub mod shape;

use std::time::Duration;

use wirecost_energy::device::{Paging, Processor, Tail, Transmitter, Wake};
use wirecost_energy::radio::{Cellular, Ethernet, NbIot, Radio, Wifi};
use wirecost_energy::{Device, Level, State};
use wirecost_nbiot::tables::Tones;
use wirecost_proto::{BitRate, ByteSize};
use wirecost_results::value::ValueError;

use crate::catalog::{Catalog, built_in};
use crate::electric::{Draw, count, decibel_milliwatts, draw, frequency, voltage};
use crate::error::ScenarioError;
use crate::figure::{Figure, Figures, versioned};
use crate::key::names;
use crate::node::{Node, Value};
use crate::table::{Table, meant, parsed, text, whole};

/// The device files that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 11] = built_in!(
    "devices",
    "esp32s3-wifi",
    "nbiot-tr45820",
    "nrf9160-lte-m",
    "nrf9160-nb-iot",
    "raspberry-pi-2b-3g",
    "raspberry-pi-2b-ethernet",
    "esp32s3-wifi-on",
    "esp32s3-wifi-modem",
    "esp32s3-wifi-modem-scaled",
    "esp32-wifi-join",
    "esp32-wifi-join-dhcp",
);

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "device",
    files: &BUILT_IN,
    absent: &[],
};

/// The name of a device file that is part of the program.
///
/// # Errors
/// There is no such file.
pub fn known(name: &str) -> Result<&'static str, ValueError> {
    let found = CATALOG.find(name).ok().flatten();
    found.map(|(known, _)| known).ok_or_else(|| {
        let names = BUILT_IN.map(|(known, _)| known).join(", ");
        ValueError::Refused(format!("{name:?} is not a device: {names}"))
    })
}

/// Reads a device file. `name` is the device's name in output.
///
/// # Errors
/// It is not a device file; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Device, ScenarioError> {
    let file = Node::parse(file)?;
    let table = versioned(&file, "device", "wirecost_device", &names(shape::FILE))?;
    let figures = Figures::new(&file)?;
    let reader = Reader {
        // First: currents of all states become powers by it.
        volts: figures.required(&table, ("", "supply"), voltage)?.value,
        figures,
    };
    let levels = reader.levels(&table)?;
    let mut device = Device {
        name: name.to_owned(),
        title: table.required("title", text)?,
        chip: table.one("chip", text)?,
        volts: reader.volts,
        levels,
        rest: rest(&table)?,
        paging: reader.paging(&table)?,
        wake: reader.wake(&table)?,
        tails: reader.tails(&table, &levels)?,
        updates: None,
        attach: None,
        window_listen: reader
            .figures
            .one(&table, ("", "window_listen"), time)?
            .map(|figure| figure.value),
        cdrx_listen: reader
            .figures
            .one(&table, ("", "cdrx_listen"), time)?
            .map(|figure| figure.value),
        transmitter: reader.transmitter(&table)?,
        processor: reader.processor(&table)?,
        radio: reader.radio(&table)?,
        provenance: Vec::new(),
    };
    plausible(&device, &table)?;
    device.provenance = reader.figures.into_provenance();
    Ok(device)
}

/// No state may have less power than the rest, and the power of tails must fall: else a longer interval could shorten battery life.
fn plausible(device: &Device, table: &Table<'_>) -> Result<(), ScenarioError> {
    let floor = device.floor().watts;
    let below = State::ALL
        .into_iter()
        // States below the rest, such as a sleep that the device does not use, may take less.
        .find(|state| *state > device.rest && device.level(*state).watts < floor);
    if let Some(state) = below {
        let message = format!("{} has less power than the rest with its paging", state.name());
        return Err(table
            .error("states", message)
            .with_hint("the rest must be the state of the least power"));
    }
    let mut powers = device
        .tails
        .iter()
        .map(|tail| tail.level.watts)
        .collect::<Vec<f64>>();
    // The last tail falls to the rest, not to nothing.
    powers.push(floor);
    if powers.windows(2).any(|pair| pair[0] < pair[1]) {
        return Err(table
            .error("tails", "the power of the tails rises")
            .with_hint("list the tails from the highest power to the lowest, all above the rest"));
    }
    Ok(())
}

fn rest(table: &Table<'_>) -> Result<State, ScenarioError> {
    let rest = table.required("rest", parsed::<State>)?;
    if rest > State::Idle {
        return Err(table
            .error("rest", format!("a device does not rest in {:?}", rest.name()))
            .with_hint("write rest: sleep or rest: idle"));
    }
    Ok(rest)
}

/// What reads figures: the sources, and the voltage at which currents are powers.
struct Reader {
    figures: Figures,
    volts: f64,
}

impl Reader {
    fn level(&self, figure: &Figure<Draw>) -> Level {
        Level {
            watts: figure.value.watts(self.volts),
            spread: figure.spread,
        }
    }

    fn levels(&self, table: &Table<'_>) -> Result<[Level; State::ALL.len()], ScenarioError> {
        let states = inner(table, "states", &names(shape::STATES))?;
        let mut levels = [Level::default(); State::ALL.len()];
        for state in State::ALL {
            let figure = self.figures.required(&states, ("states.", state.name()), draw)?;
            levels[state as usize] = self.level(&figure);
        }
        Ok(levels)
    }

    fn paging(&self, table: &Table<'_>) -> Result<Option<Paging>, ScenarioError> {
        let Some(node) = table.get("paging") else {
            return Ok(None);
        };
        let paging = Table::new(node, "paging.", &names(shape::PAGING))?;
        let every = self.figures.required(&paging, ("paging.", "every"), time)?.value;
        let listen = self.figures.required(&paging, ("paging.", "listen"), time)?.value;
        if listen > every || every.is_zero() {
            return Err(paging.error(
                "listen",
                "a device cannot listen longer than from one paging to the next",
            ));
        }
        Ok(Some(Paging { every, listen }))
    }

    fn wake(&self, table: &Table<'_>) -> Result<Option<Wake>, ScenarioError> {
        let Some(node) = table.get("wake") else {
            return Ok(None);
        };
        let wake = Table::new(node, "wake.", &names(shape::WAKE))?;
        let power = self.figures.required(&wake, ("wake.", "power"), draw)?;
        Ok(Some(Wake {
            time: self.figures.required(&wake, ("wake.", "time"), time)?.value,
            level: self.level(&power),
        }))
    }

    fn tails(
        &self,
        table: &Table<'_>,
        levels: &[Level; State::ALL.len()],
    ) -> Result<Vec<Tail>, ScenarioError> {
        let Some(node) = table.get("tails") else {
            return Ok(Vec::new());
        };
        let Value::List(entries) = &node.value else {
            return Err(table.error("tails", format!("a list is expected, this is {}", node.kind())));
        };
        // Each packet may begin all tails: a file of a stranger must not make that slow.
        if entries.len() > MAX_TAILS {
            return Err(table.error(
                "tails",
                format!("at most {MAX_TAILS} tails, this has {}", entries.len()),
            ));
        }
        let one = |node: &Node| {
            let tail = Table::new(node, "tails.", &names(shape::TAIL))?;
            let state = tail.required("state", parsed::<State>)?;
            let power = self.figures.one(&tail, ("tails.", "power"), draw)?;
            Ok(Tail {
                state,
                // A tail without a power of its own has that of its state.
                level: power.map_or(levels[state as usize], |power| self.level(&power)),
                time: self.figures.required(&tail, ("tails.", "time"), time)?.value,
            })
        };
        entries.iter().map(one).collect()
    }

    fn transmitter(&self, table: &Table<'_>) -> Result<Option<Transmitter>, ScenarioError> {
        let Some(node) = table.get("transmitter") else {
            return Ok(None);
        };
        let transmitter = Table::new(node, "transmitter.", &names(shape::TRANSMITTER))?;
        let power = self
            .figures
            .required(&transmitter, ("transmitter.", "power"), decibel_milliwatts)?;
        let least = self
            .figures
            .required(&transmitter, ("transmitter.", "least"), draw)?;
        // The line between both powers needs two points, and `least` is at 0 dBm.
        if power.value <= 0.0 {
            return Err(transmitter.error(
                "power",
                "the transmit power of the state must be above 0 dBm, that of least",
            ));
        }
        Ok(Some(Transmitter {
            dbm: power.value,
            least: self.level(&least),
        }))
    }

    fn processor(&self, table: &Table<'_>) -> Result<Option<Processor>, ScenarioError> {
        let Some(node) = table.get("processor") else {
            return Ok(None);
        };
        let processor = Table::new(node, "processor.", &names(shape::PROCESSOR))?;
        let work = |key| {
            Ok(self
                .figures
                .required(&processor, ("processor.", key), cycles)?
                .value)
        };
        Ok(Some(Processor {
            hertz: self
                .figures
                .required(&processor, ("processor.", "clock"), frequency)?
                .value,
            cycles_per_packet: work("cycles_per_packet")?,
            cycles_per_byte: work("cycles_per_byte")?,
        }))
    }

    fn radio(&self, table: &Table<'_>) -> Result<Radio, ScenarioError> {
        let kinds = names(shape::RADIO);
        let radio = inner(table, "radio", &kinds)?;
        // Two kinds would leave open which one sends.
        let mut found = kinds.iter().filter_map(|kind| Some((*kind, radio.get(kind)?)));
        let (Some((kind, node)), None) = (found.next(), found.next()) else {
            return Err(table
                .error("radio", "exactly one kind of radio is expected")
                .with_hint(format!("the kinds are {}", kinds.join(", "))));
        };
        let prefix = format!("radio.{kind}.");
        match kind {
            "wifi" => self.wifi(node, &prefix).map(Radio::Wifi),
            "ethernet" => {
                let wire = Table::new(node, &prefix, &names(shape::ETHERNET))?;
                let rate = self.rate(&wire, &prefix, "rate")?;
                Ok(Radio::Ethernet(Ethernet { rate }))
            }
            "cellular" => self.cellular(node, &prefix).map(Radio::Cellular),
            _ => self.nbiot(node, &prefix).map(Radio::NbIot),
        }
    }

    fn rate(&self, table: &Table<'_>, prefix: &str, key: &str) -> Result<BitRate, ScenarioError> {
        Ok(self.figures.required(table, (prefix, key), parsed)?.value)
    }

    fn link_bytes(&self, table: &Table<'_>, prefix: &str) -> Result<u64, ScenarioError> {
        let bytes = self.figures.required(table, (prefix, "link_bytes"), header)?;
        Ok(bytes.value)
    }

    fn time(&self, table: &Table<'_>, prefix: &str, key: &str) -> Result<Duration, ScenarioError> {
        Ok(self.figures.required(table, (prefix, key), time)?.value)
    }

    fn wifi(&self, node: &Node, prefix: &str) -> Result<Wifi, ScenarioError> {
        let wifi = Table::new(node, prefix, &names(shape::WIFI))?;
        Ok(Wifi {
            modulation: wifi.required("standard", parsed)?,
            rate: self.rate(&wifi, prefix, "rate")?,
            acknowledgement_rate: self.rate(&wifi, prefix, "acknowledgement_rate")?,
            link_bytes: self.link_bytes(&wifi, prefix)?,
        })
    }

    fn cellular(&self, node: &Node, prefix: &str) -> Result<Cellular, ScenarioError> {
        let cellular = Table::new(node, prefix, &names(shape::CELLULAR))?;
        Ok(Cellular {
            up: self.rate(&cellular, prefix, "up")?,
            down: self.rate(&cellular, prefix, "down")?,
            link_bytes: self.link_bytes(&cellular, prefix)?,
            grant: self.time(&cellular, prefix, "grant")?,
        })
    }

    fn nbiot(&self, node: &Node, prefix: &str) -> Result<NbIot, ScenarioError> {
        let nbiot = Table::new(node, prefix, &names(shape::NBIOT))?;
        let index = |key| Ok(self.figures.required(&nbiot, (prefix, key), block_index)?.value);
        let repetitions = |key| Ok(self.figures.required(&nbiot, (prefix, key), repetitions)?.value);
        Ok(NbIot {
            tones: self.figures.required(&nbiot, (prefix, "tones"), tones)?.value,
            i_tbs_up: index("block_index_up")?,
            repetitions_up: repetitions("repetitions_up")?,
            i_tbs_down: index("block_index_down")?,
            repetitions_down: repetitions("repetitions_down")?,
            link_bytes: self.link_bytes(&nbiot, prefix)?,
            grant: self.time(&nbiot, prefix, "grant")?,
        })
    }
}

/// The table of a key that must be there.
fn inner<'a>(
    table: &Table<'a>,
    key: &'static str,
    keys: &[&'static str],
) -> Result<Table<'a>, ScenarioError> {
    let Some(node) = table.get(key) else {
        return Err(table
            .error(key, "the table is missing")
            .with_hint(format!("its keys are {}", keys.join(", "))));
    };
    let Some(entries) = node.entries() else {
        return Err(table.error(key, format!("a table is expected, this is {}", node.kind())));
    };
    let unknown = entries
        .iter()
        .find(|(name, _)| !keys.contains(&name.name.as_str()));
    if let Some((name, _)) = unknown {
        let message = format!("unknown key \"{key}.{}\"", name.name);
        return Err(ScenarioError::new(&name.place, message).with_hint(meant(&name.name, keys)));
    }
    // The keys were checked above with their full names: the table's own check would name them without `key`.
    Ok(Table::at(node, ""))
}

/// The longest time of a device file.
const MAX_TIME: Duration = Duration::from_secs(86_400);

/// The most tails.
const MAX_TAILS: usize = 16;

/// A time of at most a day.
fn time(text: &str) -> Result<Duration, ValueError> {
    let time = crate::table::time(text)?;
    (time <= MAX_TIME)
        .then_some(time)
        .ok_or_else(|| ValueError::range("at most 1d", text))
}

/// Bytes of headers: no more than a packet has.
fn header(text: &str) -> Result<u64, ValueError> {
    let bytes = parsed::<ByteSize>(text)?.bytes();
    (bytes <= 65_535)
        .then_some(bytes)
        .ok_or_else(|| ValueError::range("at most 65535B", text))
}

/// Cycles of at most a second at 1 GHz.
fn cycles(text: &str) -> Result<f64, ValueError> {
    let cycles = count(text)?;
    (cycles <= 1e9)
        .then_some(cycles)
        .ok_or_else(|| ValueError::range("at most 1000000000", text))
}

fn tones(text: &str) -> Result<Tones, ValueError> {
    match text {
        "1x3.75kHz" => Ok(Tones::Single3k75),
        "1x15kHz" => Ok(Tones::Single15k),
        "3x15kHz" => Ok(Tones::Three),
        "6x15kHz" => Ok(Tones::Six),
        "12x15kHz" => Ok(Tones::Twelve),
        _ => Err(ValueError::form(
            text,
            "tones: 1x3.75kHz, 1x15kHz, 3x15kHz, 6x15kHz or 12x15kHz",
        )),
    }
}

fn block_index(text: &str) -> Result<usize, ValueError> {
    Some(whole::<usize>(text)?)
        .filter(|index| *index <= wirecost_nbiot::tables::MAX_I_TBS)
        .ok_or_else(|| ValueError::form(text, "an index of block sizes from 0 to 12"))
}

fn repetitions(text: &str) -> Result<u64, ValueError> {
    let number = whole::<u64>(text)?;
    (1..=2_048)
        .contains(&number)
        .then_some(number)
        .ok_or_else(|| ValueError::form(text, "a number of repetitions from 1 to 2048"))
}

#[cfg(test)]
mod tests;
