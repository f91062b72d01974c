//! What a tariff file may hold, key by key. The reader has its keys from here, and `schema/tariff.schema.json` is written from it.

use wirecost_cost::What;
use wirecost_cost::tariff::Period;

use crate::figure::SOURCES;
use crate::key::Holds::{
    Amount, ByName, Either, Figure, Flag, List, Of, Pattern, Positive, Several, Table, Text, Version, Whole,
    Word,
};
use crate::key::{Key, Presence, defined, keys};

/// The units of sizes, whose kB and MB have as many bytes as the file says.
fn size_units() -> Vec<&'static str> {
    vec!["B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB"]
}

defined! {
    PROTOCOLS "protocols" Text => "Protocols, separated by commas.", "mqtt+tls, http1+tls";
    KILOBYTE "kilobyte" Either(&[Whole(1_000, 1_000), Whole(1_024, 1_024), Word(&["unknown"])]) => "The bytes of a kB.";
    PRICE "price" Pattern(r"^[0-9]+(\.[0-9]+)? ?[A-Z]{3}$") => "A price with its currency.", "0.40 EUR";
    PERIOD "period" Word(&Period::NAMES) => "When bytes are rounded.";
    SIZE "size" Amount(size_units) => "A size; a kB has the bytes of kilobyte.", "5KB", "500MB";
    SPAN "time" Amount(|| vec!["s", "min", "h", "d", "y"]) => "A time; a year has 365 days.", "24h", "10y";
    NUMBER "number" Either(&[Positive, Amount(size_units)]) => "A number of what the rule counts, or a size.", "1000", "500MB";
    COUNTED "counted" Word(&What::NAMES) => "What a rule counts.";
    MESSAGES "messages" Pattern(r"^[0-9]+(\.[0-9]+)? x ?[0-9]+(\.[0-9]+)? ?(B|kB|KB|MB|GB|KiB|MiB)$")
        => "A number of messages with their size.", "300 x 1KB";
}

keys! {
    /// A tariff file.
    pub FILE {
        must wirecost_tariff Version => "The version of the form.";
        must title Text => "What the file describes.";
        may sources SOURCES => "Names of sources, each with its text, which has a year.";
        may protocols Figure(&PROTOCOLS)
            => "The protocols that the service takes, separated by commas: mqtt, mqttsn, coap, amqp, http1, http3, or one of them with +tls. Without it, any.";
        may kilobyte Figure(&KILOBYTE)
            => "Bytes of a kB or KB of this file; a MB has as many kB. unknown where the page does not say: both results are printed. Without it, 1000.";
        may uncompressed Flag => "The provider counts compressed content by its size before; bills count what is sent.";
        may money Table(MONEY) => "What the sum of all devices is rounded up to.";
        must rules ByName("", &Table(RULE)) => "Rules by their names.";
        may examples List(0, &Table(EXAMPLE)) => "Worked examples of the page, which wirecost tariffs FILE --examples runs.";
    }
    /// `money`.
    pub(super) MONEY {
        must round Figure(&PRICE) => "The step.";
        must each Word(&[Period::Day.name(), Period::Month.name()]) => "When it is rounded.";
    }
    /// One of `rules`.
    pub(super) RULE {
        may row Text => "Heading and row of the provider's page that says so.";
        must counts Several(&Of(&COUNTED))
            => "What the rule counts. Packets are IP packets and need a rule of their own; publish and delivery are messages up and down with payload, subscribe a later message that prepares others, retained, rule, action and operation are what packets do not show; minutes are started minutes of sessions, sessions the most at a time of a month, fee the month itself.";
        may again Flag => "The page counts it a second time: without it, two rules that count the same are an error.";
        may topic Flag => "The size of a message has what is around its payload, too: topic and properties.";
        may unit Figure(&SIZE) => "Each message is started units of this size; an empty one is one unit.";
        may least Figure(&SIZE) => "Each message is its bytes, at least so many; of packets, the fewest bytes of a period.";
        may tunnel Figure(&SIZE)
            => "Of packets: bytes that are added to each packet, up and, without tunnel_down, down: the headers of a tunnel.";
        may tunnel_down Figure(&SIZE) => "The same of packets down, if they differ.";
        may round Figure(&SIZE) => "Of packets: bytes are rounded up to a multiple of this; without it, to the byte.";
        may each Figure(&PERIOD) => "Of packets: when they are rounded; without it, each month.";
        may cut Figure(&SPAN) => "Of packets: the operator ends a session after this time.";
        may account Flag => "The price is of all devices together: its tiers and steps are of their sum.";
        may free Figure(&NUMBER) => "What costs nothing in a month.";
        may tiers List(1, &Table(TIER)) => "Each part at its own price, by its upper limit; the last one has none.";
        may price Figure(&PRICE) => "The price, with its currency.";
        may per Figure(&NUMBER) => "What the price is for; without it, one.";
        may a_day Figure(&NUMBER) => "The price is that of a month for each started number of a day.";
        may bundle Figure(&NUMBER) => "The price is that of a prepaid bundle, bought again when it is used up or has expired.";
        may valid Figure(&SPAN) => "When a bundle expires; a year has 365 days.";
    }
    /// One of `tiers`.
    pub(super) TIER {
        may to Of(&NUMBER) => "";
        must price Figure(&PRICE) => "The price of per.";
    }
    /// One of `examples`.
    pub(super) EXAMPLE {
        must row Text => "Heading and row of the page, or who computed it.";
        may devices Whole(1, 4_294_967_295) => "Equal devices; without it, one.";
        may days Positive => "Days of the usage; without it, 30.";
        may free Flag => "false leaves out free tiers, as some pages do.";
        must day Table(DAY) => "What one device does in a day: connected: 24h, publish: 300 x 1KB.";
        may lines ByName("", &Several(&Of(&NUMBER)))
            => "Figures of the page by the name of the rule, of all devices; one with a decimal point is rounded to its last digit.";
        may money Of(&PRICE) => "The sum that the page says.";
        may addends Whole(1, 4_294_967_295) => "How many equal addends the page has rounded before it added them.";
    }
}

/// `day` of an example: how long it is connected, and each kind of message.
pub(super) const DAY: &[Key] = &{
    let mut keys = [Key {
        name: "connected",
        need: Presence::May,
        holds: Of(&SPAN),
        help: "How long it is connected.",
    }; 12];
    let (mut of, mut next) = (0, 1);
    while of < What::ALL.len() {
        if What::ALL[of].is_message() {
            keys[next] = Key {
                name: What::ALL[of].name(),
                holds: Several(&Of(&MESSAGES)),
                help: "",
                ..keys[0]
            };
            next += 1;
        }
        of += 1;
    }
    keys
};
