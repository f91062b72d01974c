//! What the tables of files may hold, key by key: readers have their keys from here, and the JSON Schemas are written from it.
//!
//! `keys!` declares tables; [`Defined`] are the kinds of values that the schemas say once and name.

use crate::electric::{CURRENTS, FREQUENCIES, POWERS, VOLTAGES};
use Holds::{Amount, Either, Number, Pattern, Text, Whole, Word};
use wirecost_readings::{Compression, Encoding, MOST_READINGS};

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Whether it must be there.
    pub need: Presence,
    /// What it holds.
    pub holds: Holds,
    /// What it means; empty where the name says it.
    pub help: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It must.
    Must,
    /// It may be.
    May,
    /// One of the keys of this need must be there.
    Either,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// The version of the format: 1.
    Version,
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// A text, a number, `true` or `false`.
    Scalar,
    /// A number from this one on.
    Number(u32),
    /// A number above 0.
    Positive,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text that this regular expression matches.
    Pattern(&'static str),
    /// A number with one of the units that the function lists.
    Amount(fn() -> Vec<&'static str>),
    /// What has a name of its own.
    Of(&'static Defined),
    /// The same, alone or with its source and its spread.
    Figure(&'static Defined),
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table with at least and at most so many of these keys.
    Few(usize, usize, &'static [Key]),
    /// A table with the keys of one of these entries, whose name the key `do` has.
    Do(&'static [Key]),
    /// A table of names, which this regular expression matches, with such a value each.
    ByName(&'static str, &'static Holds),
    /// A list of at least so many.
    List(usize, &'static Holds),
    /// One, or a list of at least one.
    Several(&'static Holds),
    /// Any of these.
    Either(&'static [Holds]),
    /// Nothing, which stands for a table without keys.
    Nothing,
    /// The keys that can have several values, each with a list of them.
    Lists,
    /// Conditions on these keys.
    Conditions,
    /// Loads in the resolved form.
    Loads,
    /// A network of NB-IoT cells, whose schema scripts/nbiot-schema writes from its types.
    Network,
}

impl Holds {
    /// The keys of the table that it is; none if it is no table.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::Table(keys) | Self::Few(_, _, keys) => keys,
            _ => &[],
        }
    }
}

/// A kind of value that schemas describe once.
#[derive(Clone, Copy, Debug)]
pub struct Defined {
    /// Its name in them.
    pub name: &'static str,
    /// What it is; empty where the name says it.
    pub help: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// Examples of it.
    pub examples: &'static [&'static str],
}

/// The names of keys.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Tables of keys that must or may be there, with what they hold and mean.
macro_rules! keys {
    (must) => { $crate::key::Presence::Must };
    (may) => { $crate::key::Presence::May };
    (either) => { $crate::key::Presence::Either };
    ($($(#[doc = $doc:expr])* $scope:vis $table:ident { $($need:ident $name:ident $holds:expr => $help:literal;)* })*) => {
        $(
            $(#[doc = $doc])*
            $scope const $table: &[$crate::key::Key] = &[$($crate::key::Key {
                name: stringify!($name),
                need: $crate::key::keys!($need),
                holds: $holds,
                help: $help,
            },)*];
        )*
    };
}
pub(crate) use keys;

/// Kinds of values with a name, what they hold, what they are, and examples.
macro_rules! defined {
    ($($scope:vis $kind:ident $name:literal $holds:expr => $help:literal $(, $example:literal)*;)*) => {
        $(
            // A code span: the brackets of a form are no links.
            #[doc = concat!("In the words of the schema: `", $help, "`")]
            $scope const $kind: $crate::key::Defined = $crate::key::Defined {
                name: $name,
                help: $help,
                holds: $holds,
                examples: &[$($example),*],
            };
        )*
    };
}
pub(crate) use defined;

/// The names of units.
fn units<const N: usize>(table: [(&'static str, f64); N]) -> Vec<&'static str> {
    table.map(|(name, _)| name).to_vec()
}

// Values of several kinds of files.
defined! {
    pub(crate) TIME "time" Amount(|| vec!["ns", "us", "ms", "s", "min", "h", "d"]) => "A time with its unit.", "25ms", "15min";
    pub(crate) SIZE "size" Amount(|| vec!["B", "kB", "KB", "MB", "GB", "KiB", "MiB"])
        => "A number of bytes with its unit; 1 kB is 1,000 B.", "128B", "10kB";
    pub(crate) VOLTAGE "voltage" Amount(|| units(VOLTAGES)) => "A voltage.", "3.3V";
    pub(crate) DRAW "draw" Amount(|| [units(POWERS), units(CURRENTS)].concat()) => "A power, or a current at the supply's voltage.", "5uA";
    pub(crate) FREQUENCY "frequency" Amount(|| units(FREQUENCIES)) => "A frequency.", "80MHz";
    pub(crate) TRANSMIT "transmit_power" Pattern(r"^-?[0-9]+(\.[0-9]+)? ?dBm$") => "A transmit power.", "23dBm";
    pub(crate) BITS "bits" Pattern(r"^[0-9]+(\.[0-9]+)? ?(bit|kbit|[Mm]bit|[Gg]bit)(/s)?$") => "A rate of bits.", "50kbit";
    pub(crate) TONES "tones" Pattern(r"^(1x3\.75kHz|(1|3|6|12)x15kHz)$") => "The tones of an NB-IoT transmission.", "12x15kHz";
    pub(crate) AMOUNT "number" Either(&[Number(0), Text]) => "A number.", "1";
}

// Values of scenarios.
defined! {
    pub(crate) READINGS "readings" Whole(1, MOST_READINGS as u64) => "A number of readings.";
    pub(crate) ENCODING "encoding" Word(&Encoding::NAMES) => "An encoding of readings.";
    pub(crate) COMPRESSION "compression" Word(&Compression::NAMES)
        => "A compression of encoded readings.";
    pub(crate) PROBABILITY "probability" Pattern(r"^[0-9]+(\.[0-9]+)? ?%$") => "A probability in percent.", "1%";
    pub(crate) BIT_RATE "bit_rate" Pattern(r"^(unlimited|[0-9]+(\.[0-9]+)? ?(bit|kbit|[Mm]bit|[Gg]bit)(/s)?)$")
        => "A rate of IP packets, or unlimited.", "50kbit", "10Mbit";
    pub(crate) RATE "rate" Pattern(r"^[0-9]+(\.[0-9]+)?[kM]? ?/ ?(s|min|h)$") => "Messages or connections per time.", "1000/s", "30/min";
    pub(crate) STACK "stack" Pattern(
        r"^(tcp|udp|mqtt5?-qos[012]|mqttsn-qos(-1|[012])|coap-(non|con|tcp)|amqp-(un)?settled|http[13]|postgres|mariadb|mongodb)(\+cose)?(\+(tls1\.[23]|dtls1\.[23]|dtls1\.2-(psk|cid)|oscore))?$"
    ) => "application[+cose][+channel], e.g. mqtt-qos1+tls1.3.", "tcp", "mqtt-qos1+tls1.3", "coap-con+oscore", "http3";
    pub(crate) COUNT "count" Whole(0, u64::MAX) => "A whole number.";
    pub(crate) CLIENTS "clients" Either(&[Whole(1, u64::MAX), Pattern("^[0-9]+[kM]?$")])
        => "A number of devices or messages; 50k is 50,000 and 10M is 10,000,000.";
}
