//! What a device file may hold, key by key. The reader has its keys from here, and `schema/device.schema.json` is written from it.

use wirecost_energy::State;

use crate::electric::{CURRENTS, FREQUENCIES, POWERS, VOLTAGES};
use DeviceQuantity::{Draw, Frequency, Number, Rate, Size, Time, Tones, Transmit, Voltage};

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it holds.
    pub value: DeviceValue,
    /// What it means; empty where the name says it.
    pub help: &'static str,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum DeviceValue {
    /// The version of the format: 1.
    Version,
    /// Any text.
    Text,
    /// Texts with a year, by name.
    Sources,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a state.
    State,
    /// A quantity, alone or with its source and its spread.
    Figure(DeviceQuantity),
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table with exactly one of these keys.
    OneOf(&'static [Key]),
    /// A list of tables with these keys.
    List(&'static [Key]),
}

/// A quantity with its unit, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceQuantity {
    /// A voltage.
    Voltage,
    /// A current or a power.
    Draw,
    /// A time.
    Time,
    /// A transmit power.
    Transmit,
    /// A frequency.
    Frequency,
    /// A rate of bits.
    Rate,
    /// A number of bytes.
    Size,
    /// A number.
    Number,
    /// The tones of an NB-IoT transmission.
    Tones,
}

impl DeviceQuantity {
    /// Its name in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voltage => "voltage",
            Self::Draw => "draw",
            Self::Time => "time",
            Self::Transmit => "transmit_power",
            Self::Frequency => "frequency",
            Self::Rate => "rate",
            Self::Size => "size",
            Self::Number => "number",
            Self::Tones => "tones",
        }
    }

    /// Its texts as a regular expression; `None` of a number.
    pub fn pattern(self) -> Option<String> {
        let of = |units: &mut dyn Iterator<Item = &'static str>| {
            let units: Vec<&str> = units.collect();
            format!(r"^[0-9]+(\.[0-9]+)? ?({})$", units.join("|"))
        };
        let names = |units: &'static [(&'static str, f64)]| units.iter().map(|(name, _)| *name);
        match self {
            Self::Voltage => Some(of(&mut names(&VOLTAGES))),
            Self::Draw => Some(of(&mut names(&POWERS).chain(names(&CURRENTS)))),
            Self::Time => Some(of(&mut ["ns", "us", "ms", "s", "min", "h", "d"].into_iter())),
            Self::Transmit => Some(r"^-?[0-9]+(\.[0-9]+)? ?dBm$".to_owned()),
            Self::Frequency => Some(of(&mut names(&FREQUENCIES))),
            Self::Rate => Some(r"^[0-9]+(\.[0-9]+)? ?(bit|kbit|[Mm]bit|[Gg]bit)(/s)?$".to_owned()),
            Self::Size => Some(of(&mut ["B", "kB", "KB", "MB", "GB", "KiB", "MiB"].into_iter())),
            Self::Tones => Some(r"^(1x3\.75kHz|(1|3|6|12)x15kHz)$".to_owned()),
            Self::Number => None,
        }
    }
}

/// The names of keys.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Tables of keys that must or may be there, with what they hold and mean.
macro_rules! keys {
    (must) => { true };
    (may) => { false };
    ($($(#[doc = $doc:expr])* $table:ident { $($need:ident $name:ident $value:ident $(($of:expr))? => $help:literal;)* })*) => {
        $(
            $(#[doc = $doc])*
            pub const $table: &[Key] = &[$(Key {
                name: stringify!($name),
                is_required: keys!($need),
                value: DeviceValue::$value $(($of))?,
                help: $help,
            },)*];
        )*
    };
}

/// The states that a device rests in.
const REST: &[&str] = &[State::Sleep.name(), State::Idle.name()];

keys! {
    /// A device file.
    FILE {
        must wirecost_device Version => "";
        must title Text => "";
        may chip Text => "The chip or module, as the files of measurements name it: its measured events say how sure a life is.";
        may sources Sources => "Sources by name: author, title, table and year.";
        must supply Figure(Voltage) => "The voltage at which currents are powers.";
        must states Table(STATES) => "";
        must rest Word(REST) => "The state between traffic.";
        may paging Table(PAGING) => "Listening while the device rests.";
        may window_listen Figure(Time) => "How long it listens in a paging window of eDRX of 2.56 s, for --edrx.";
        may transmitter Table(TRANSMITTER) => "How sending depends on transmit power, for --tx-power.";
        may wake Table(WAKE) => "What leaving the rest takes.";
        may tails List(TAIL) => "The states after a packet, from the highest power to the lowest.";
        may processor Table(PROCESSOR) => "";
        must radio OneOf(RADIO) => "";
    }
    /// The power of each state.
    STATES {
        must sleep Figure(Draw) => "Current or power of the state.";
        must idle Figure(Draw) => "Current or power of the state.";
        must listen Figure(Draw) => "Current or power of the state.";
        must receive Figure(Draw) => "Current or power of the state.";
        must transmit Figure(Draw) => "Current or power of the state.";
        must compute Figure(Draw) => "Current or power of the state.";
    }
    /// `paging`.
    PAGING {
        must every Figure(Time) => "From one to the next.";
        must listen Figure(Time) => "How long it listens each time.";
    }
    /// `transmitter`.
    TRANSMITTER {
        must power Figure(Transmit) => "Transmit power of the state transmit, above 0 dBm.";
        must least Figure(Draw) => "Power or current while it sends at 0 dBm.";
    }
    /// `wake`.
    WAKE {
        must time Figure(Time) => "How long.";
        must power Figure(Draw) => "Mean current or power.";
    }
    /// One of `tails`.
    TAIL {
        must state State => "";
        may power Figure(Draw) => "Its power, if it is not that of the state.";
        must time Figure(Time) => "How long, unless a packet comes.";
    }
    /// `processor`.
    PROCESSOR {
        must clock Figure(Frequency) => "Cycles per second.";
        must cycles_per_packet Figure(Number) => "Cycles for each packet.";
        must cycles_per_byte Figure(Number) => "Cycles for each byte of IP packets.";
    }
    /// `radio`.
    RADIO {
        may wifi Table(WIFI) => "";
        may ethernet Table(ETHERNET) => "";
        may cellular Table(CELLULAR) => "";
        may nbiot Table(NBIOT) => "";
    }
    /// `radio.wifi`.
    WIFI {
        must standard Word(&["802.11b", "802.11g", "802.11n"]) => "";
        must rate Figure(Rate) => "Rate of data frames.";
        must acknowledgement_rate Figure(Rate) => "Rate of acknowledgements.";
        must link_bytes Figure(Size) => "Bytes around the IP packet.";
    }
    /// `radio.ethernet`.
    ETHERNET {
        must rate Figure(Rate) => "Rate of the wire.";
    }
    /// `radio.cellular`.
    CELLULAR {
        must up Figure(Rate) => "Rate from the device.";
        must down Figure(Rate) => "Rate to the device.";
        must link_bytes Figure(Size) => "Bytes below IP for each packet.";
        must grant Figure(Time) => "Listening for a grant before each packet up.";
    }
    /// `radio.nbiot`.
    NBIOT {
        must tones Figure(Tones) => "1x3.75kHz, 1x15kHz, 3x15kHz, 6x15kHz or 12x15kHz.";
        must block_index_up Figure(Number) => "I_TBS of NPUSCH, 0 to 12.";
        must repetitions_up Figure(Number) => "Repetitions of NPUSCH.";
        must block_index_down Figure(Number) => "I_TBS of NPDSCH, 0 to 12.";
        must repetitions_down Figure(Number) => "Repetitions of NPDSCH.";
        must link_bytes Figure(Size) => "Bytes below IP for each packet.";
        must grant Figure(Time) => "Listening for each block.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::read;

    /// A value of a shape.
    fn example(value: DeviceValue) -> String {
        match value {
            DeviceValue::Version => "1".to_owned(),
            DeviceValue::Text => "mine".to_owned(),
            DeviceValue::Sources => "{sheet: \"Maker, sheet, 2024\"}".to_owned(),
            DeviceValue::Word(words) => words[0].to_owned(),
            DeviceValue::State => "idle".to_owned(),
            DeviceValue::Figure(quantity) => format!("{{value: {}, source: sheet}}", amount(quantity)),
            DeviceValue::Table(keys) => table(keys, &[]),
            DeviceValue::OneOf(keys) => table(&keys[..1], &[]),
            DeviceValue::List(keys) => format!("[{}]", table(keys, &[])),
        }
    }

    const fn amount(quantity: DeviceQuantity) -> &'static str {
        match quantity {
            DeviceQuantity::Voltage => "3V",
            DeviceQuantity::Draw => "1mA",
            DeviceQuantity::Time => "1s",
            DeviceQuantity::Transmit => "23dBm",
            DeviceQuantity::Frequency => "80MHz",
            DeviceQuantity::Rate => "1Mbit/s",
            DeviceQuantity::Size => "10B",
            DeviceQuantity::Number => "1",
            DeviceQuantity::Tones => "1x3.75kHz",
        }
    }

    /// A table with an example of each key, or with these values.
    fn table(keys: &[Key], instead: &[(&str, Option<String>)]) -> String {
        let entry = |key: &Key| {
            let other = instead.iter().find(|(name, _)| *name == key.name);
            let value = match other {
                Some((_, value)) => value.clone()?,
                None => example(key.value),
            };
            Some(format!("{}: {value}", key.name))
        };
        let entries: Vec<String> = keys.iter().filter_map(entry).collect();
        format!("{{{}}}", entries.join(", "))
    }

    /// Calls `each` with a file that differs in one key, with the key and whether it was left out, for every key.
    fn each_key(keys: &'static [Key], wrap: &dyn Fn(String) -> String, each: &mut dyn FnMut(&Key, String)) {
        for key in keys {
            each(key, wrap(table(keys, &[(key.name, None)])));
            let within = |inner: String| wrap(table(keys, &[(key.name, Some(inner))]));
            match key.value {
                DeviceValue::Table(inner) => each_key(inner, &within, each),
                DeviceValue::OneOf(kinds) => {
                    for kind in kinds {
                        let DeviceValue::Table(inner) = kind.value else {
                            panic!("{} is no table", kind.name);
                        };
                        each_key(inner, &|text| within(format!("{{{}: {text}}}", kind.name)), each);
                    }
                }
                DeviceValue::List(inner) => each_key(inner, &|text| within(format!("[{text}]")), each),
                DeviceValue::Version
                | DeviceValue::Text
                | DeviceValue::Sources
                | DeviceValue::State
                | DeviceValue::Word(_)
                | DeviceValue::Figure(_) => {}
            }
        }
    }

    #[test]
    fn a_file_with_every_key_is_read_and_one_without_a_key_if_it_need_not_be_there() {
        read("mine", &table(FILE, &[])).expect("every key");
        let mut count = 0;
        each_key(FILE, &|text| text, &mut |key, file| {
            // Without sources, no figure has one.
            let file = if key.name == "sources" {
                file.replace(", source: sheet", "")
            } else {
                file
            };
            let read = read("mine", &file);
            assert_eq!(read.is_err(), key.is_required, "without {}: {read:?}", key.name);
            count += 1;
        });
        assert_eq!(count, 48);
    }

    #[test]
    fn every_word_of_a_key_is_read() {
        for word in names(STATES) {
            let tail = table(TAIL, &[("state", Some(word.to_owned()))]);
            read("mine", &table(FILE, &[("tails", Some(format!("[{tail}]")))])).expect(word);
        }
        let DeviceValue::Word(standards) = WIFI[0].value else {
            panic!("the standards are words");
        };
        for word in standards {
            let wifi = table(WIFI, &[("standard", Some((*word).to_owned()))]);
            read(
                "mine",
                &table(FILE, &[("radio", Some(format!("{{wifi: {wifi}}}")))]),
            )
            .expect(word);
        }
    }
}
