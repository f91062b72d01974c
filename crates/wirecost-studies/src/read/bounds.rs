//! The bound of a claim, in one of its forms.

use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::node::Node;
use wirecost_scenario::table::{Table, ValueError, parsed, text, time};

use super::at;
use crate::amount::{Amount, Dimension, Published};
use crate::arithmetic::compute;
use crate::bound::{Bound, Flight};

const KEYS: [&str; 15] = [
    "least", "most", "flights", "rtt", "bytes", "rate", "energy", "power", "airtime", "bits", "headers",
    "mss", "inflight", "time", "payload",
];
const FORMS: &str = "{flights, rtt, bytes, rate}, {power, airtime}, {power, bits, rate}, {energy}, {headers, mss}, {inflight, time}, {bytes, rate}, {payload}, {least: EXPRESSION} or {most: EXPRESSION}";

/// The bound of a claim; `None` if it has none.
///
/// # Errors
/// It has none of the forms, or a value cannot be read.
pub(super) fn bound(claim: &Node) -> Result<Option<Bound>, ScenarioError> {
    let Some(node) = claim.get("bound") else {
        return Ok(None);
    };
    let table = Table::new(node, "bound.", &KEYS)?;
    let keys: Vec<&str> = KEYS.into_iter().filter(|key| table.get(key).is_some()).collect();
    let amount = |key: &str| table.required(key, amount);
    let bound = match keys.as_slice() {
        ["flights", rest @ ..] => of_time(&table, rest)?,
        ["energy"] => Bound {
            amount: amount("energy")?,
            is_upper: false,
            is_of_numbers: false,
            flights: Vec::new(),
            text: table.required("energy", text)?,
        },
        ["power", "airtime"] => Bound::energy(amount("power")?, amount("airtime")?),
        ["rate", "power", "bits"] => {
            let rate = table.required("rate", bit_rate)?;
            Bound::energy(amount("power")?, amount("bits")? / rate)
        }
        ["bytes", "rate"] => Bound::throughput(table.required("rate", bit_rate)?, amount("bytes")?),
        ["headers", "mss"] => {
            let mss = amount("mss")?;
            // Written with a unit it is in bits, the base unit of data; a plain number is in bytes.
            let bytes = if mss.dimension == Dimension::DATA {
                mss.value / 8.0
            } else {
                mss.value
            };
            Bound::headers(amount("headers")?.value, bytes)
        }
        ["inflight", "time"] => Bound::rate(amount("inflight")?.value, amount("time")?),
        [key @ ("least" | "most")] => {
            let text = table.required(key, text)?;
            let amount = compute(&text).map_err(|error| {
                at(node, format!("bound.{key}: {error}"))
                    .with_hint("for example {least: \"190 mA / 0.97/s\"}")
            })?;
            Bound {
                flights: Vec::new(),
                // It follows from other numbers of the publication, not from nature: it contradicts, and makes nothing impossible.
                is_of_numbers: true,
                amount,
                is_upper: *key == "most",
                text,
            }
        }
        ["payload"] => Bound::payload(amount("payload")?),
        _ => {
            return Err(at(node, format!("bound: {} are no bound", keys.join(", ")))
                .with_hint(format!("a bound is {FORMS}")));
        }
    };
    Ok(Some(bound))
}

fn of_time(table: &Table<'_>, rest: &[&str]) -> Result<Bound, ScenarioError> {
    let flights = table.many("flights", |text| Ok(Flight::read(text)))?;
    let Some(rtt) = table.one("rtt", time)? else {
        let error = table.error("rtt", "flights need a round-trip time");
        return Err(error.with_hint("for example bound: {flights: [SYN, CONNECT], rtt: 100ms}"));
    };
    let bytes = table.one("bytes", amount)?;
    let rate = table.one("rate", bit_rate)?;
    let serialisation = match (bytes, rate) {
        (Some(bytes), Some(rate)) => Some(bytes / rate),
        (None, None) => None,
        // One without the other gives no time.
        _ => return Err(table.error("bytes", "bytes and rate go together")),
    };
    if let Some(other) = rest.iter().find(|key| !matches!(**key, "rtt" | "bytes" | "rate")) {
        return Err(table.error(other, "this is no part of a bound by flights"));
    }
    Ok(Bound::time(
        &flights,
        Amount::seconds(rtt.as_secs_f64()),
        serialisation,
    ))
}

fn amount(text: &str) -> Result<Amount, ValueError> {
    Published::read(text)
        .map(|published| published.amount)
        .map_err(|error| ValueError::Refused(error.to_string()))
}

/// A rate of a link, as scenarios write it: `100Mbit`.
fn bit_rate(text: &str) -> Result<Amount, ValueError> {
    let rate = parsed::<wirecost_proto::BitRate>(text)?;
    Ok(Amount::new(rate.bits_per_second() as f64, Dimension::BIT_RATE))
}
