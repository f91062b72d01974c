//! What a device file may hold, key by key. The reader has its keys from here, and `schema/device.schema.json` is written from it.

use wirecost_energy::State;
use wirecost_energy::radio::Modulation;

use crate::figure::SOURCES;
use crate::key::Holds::{Few, Figure, List, Table, Text, Version, Word};
use crate::key::{AMOUNT, BITS, DRAW, FREQUENCY, SIZE, TIME, TONES, TRANSMIT, VOLTAGE, keys};

/// The states that a device rests in.
const REST: &[&str] = &[State::Sleep.name(), State::Idle.name()];

keys! {
    /// A device file.
    pub FILE {
        must wirecost_device Version => "";
        must title Text => "";
        may chip Text => "The chip or module, as the files of measurements name it: its measured events say how sure a life is.";
        may sources SOURCES => "Sources by name: author, title, table and year.";
        must supply Figure(&VOLTAGE) => "The voltage at which currents are powers.";
        must states Table(STATES) => "";
        must rest Word(REST) => "The state between traffic.";
        may paging Table(PAGING) => "Listening while the device rests.";
        may window_listen Figure(&TIME) => "How long it listens in a paging window of eDRX of 2.56 s, for --edrx.";
        may cdrx_listen Figure(&TIME) => "How long it listens in a cycle of discontinuous reception while connected, for --cdrx.";
        may transmitter Table(TRANSMITTER) => "How sending depends on transmit power, for --tx-power.";
        may wake Table(WAKE) => "What leaving the rest takes.";
        may tails List(0, &Table(TAIL)) => "The states after a packet, from the highest power to the lowest.";
        may processor Table(PROCESSOR) => "";
        must radio Few(1, 1, RADIO) => "";
    }
    /// The power of each state.
    pub(super) STATES {
        must sleep Figure(&DRAW) => "Current or power of the state.";
        must idle Figure(&DRAW) => "Current or power of the state.";
        must listen Figure(&DRAW) => "Current or power of the state.";
        must receive Figure(&DRAW) => "Current or power of the state.";
        must transmit Figure(&DRAW) => "Current or power of the state.";
        must compute Figure(&DRAW) => "Current or power of the state.";
    }
    /// `paging`.
    pub(super) PAGING {
        must every Figure(&TIME) => "From one to the next.";
        must listen Figure(&TIME) => "How long it listens each time.";
    }
    /// `transmitter`.
    pub(super) TRANSMITTER {
        must power Figure(&TRANSMIT) => "Transmit power of the state transmit, above 0 dBm.";
        must least Figure(&DRAW) => "Power or current while it sends at 0 dBm.";
    }
    /// `wake`.
    pub(super) WAKE {
        must time Figure(&TIME) => "How long.";
        must power Figure(&DRAW) => "Mean current or power.";
    }
    /// One of `tails`.
    pub(super) TAIL {
        must state Word(&State::NAMES) => "";
        may power Figure(&DRAW) => "Its power, if it is not that of the state.";
        must time Figure(&TIME) => "How long, unless a packet comes.";
    }
    /// `processor`.
    pub(super) PROCESSOR {
        must clock Figure(&FREQUENCY) => "Cycles per second.";
        must cycles_per_packet Figure(&AMOUNT) => "Cycles for each packet.";
        must cycles_per_byte Figure(&AMOUNT) => "Cycles for each byte of IP packets.";
    }
    /// `radio`.
    pub(super) RADIO {
        may wifi Table(WIFI) => "";
        may ethernet Table(ETHERNET) => "";
        may cellular Table(CELLULAR) => "";
        may nbiot Table(NBIOT) => "";
    }
    /// `radio.wifi`.
    pub(super) WIFI {
        must standard Word(&Modulation::NAMES) => "";
        must rate Figure(&BITS) => "Rate of data frames.";
        must acknowledgement_rate Figure(&BITS) => "Rate of acknowledgements.";
        must link_bytes Figure(&SIZE) => "Bytes around the IP packet.";
    }
    /// `radio.ethernet`.
    pub(super) ETHERNET {
        must rate Figure(&BITS) => "Rate of the wire.";
    }
    /// `radio.cellular`.
    pub(super) CELLULAR {
        must up Figure(&BITS) => "Rate from the device.";
        must down Figure(&BITS) => "Rate to the device.";
        must link_bytes Figure(&SIZE) => "Bytes below IP for each packet.";
        must grant Figure(&TIME) => "Listening for a grant before each packet up.";
    }
    /// `radio.nbiot`.
    pub(super) NBIOT {
        must tones Figure(&TONES) => "1x3.75kHz, 1x15kHz, 3x15kHz, 6x15kHz or 12x15kHz.";
        must block_index_up Figure(&AMOUNT) => "I_TBS of NPUSCH, 0 to 12.";
        must repetitions_up Figure(&AMOUNT) => "Repetitions of NPUSCH.";
        must block_index_down Figure(&AMOUNT) => "I_TBS of NPDSCH, 0 to 12.";
        must repetitions_down Figure(&AMOUNT) => "Repetitions of NPDSCH.";
        must link_bytes Figure(&SIZE) => "Bytes below IP for each packet.";
        must grant Figure(&TIME) => "Listening for each block.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::read;
    use crate::key::{Holds, Key, Presence, names};

    /// A value of a key.
    fn example(holds: Holds) -> String {
        match holds {
            Version => "1".to_owned(),
            Text => "mine".to_owned(),
            Holds::ByName(..) => "{sheet: \"Maker, sheet, 2024\"}".to_owned(),
            Word(words) => words[0].to_owned(),
            Figure(kind) => format!("{{value: {}, source: sheet}}", kind.examples[0]),
            Table(keys) => table(keys, &[]),
            Few(_, _, keys) => table(&keys[..1], &[]),
            List(_, of) => format!("[{}]", example(*of)),
            other => panic!("no device file has {other:?}"),
        }
    }

    /// A table with an example of each key, or with these values.
    fn table(keys: &[Key], instead: &[(&str, Option<String>)]) -> String {
        let entry = |key: &Key| {
            let other = instead.iter().find(|(name, _)| *name == key.name);
            let value = match other {
                Some((_, value)) => value.clone()?,
                None => example(key.holds),
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
            match key.holds {
                Table(inner) => each_key(inner, &within, each),
                Few(_, _, kinds) => {
                    for kind in kinds {
                        let inner = keys_of(kind.holds);
                        each_key(inner, &|text| within(format!("{{{}: {text}}}", kind.name)), each);
                    }
                }
                List(_, of) => each_key(keys_of(*of), &|text| within(format!("[{text}]")), each),
                _ => {}
            }
        }
    }

    fn keys_of(holds: Holds) -> &'static [Key] {
        match holds {
            Table(keys) => keys,
            other => panic!("{other:?} is no table"),
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
            assert_eq!(
                read.is_err(),
                key.need == Presence::Must,
                "without {}: {read:?}",
                key.name
            );
            count += 1;
        });
        assert_eq!(count, 49);
    }

    #[test]
    fn every_word_of_a_key_is_read() {
        for word in names(STATES) {
            let tail = table(TAIL, &[("state", Some(word.to_owned()))]);
            read("mine", &table(FILE, &[("tails", Some(format!("[{tail}]")))])).expect(word);
        }
        let Word(standards) = WIFI[0].holds else {
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
