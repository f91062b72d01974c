//! The answer of `cost` in a sentence.

use std::cmp::Ordering;

use wirecost_account::{Figures, Terms, Traffic};
use wirecost_proto::shown::{money, number};
use wirecost_proto::units::counted;

use super::labels::own_label;
use crate::arguments::FleetArguments;

/// The row that costs least, in a sentence: what lasts longest on a battery, else what needs the least energy, money or bytes.
pub(super) fn answer(
    (fleet, terms): (FleetArguments, &Terms<'_>),
    traffic: &[Traffic],
    outcomes: &[Figures],
    alike: &str,
) -> Option<String> {
    let cost = |outcome: &Figures| match (&outcome.years, &outcome.power, &outcome.bill) {
        // Years are the more the better.
        (Some([years, ..]), ..) => -years,
        (None, Some(power), _) => power.total().joules,
        (None, None, Some(bill)) => bill.amount,
        (None, None, None) => outcome.month.wire_bytes(),
    };
    let each = traffic.iter().zip(outcomes);
    // Of rows that cost the same, as within a bundle of bytes or at the shelf life of a battery, the one with the fewest bytes.
    let order = |outcome: &Figures| [cost(outcome), outcome.month.wire_bytes()];
    let (traffic, outcome) = each.min_by(|(_, one), (_, other)| {
        let pairs = order(one).into_iter().zip(order(other));
        pairs.fold(Ordering::Equal, |so_far, (one, other)| {
            so_far.then(one.total_cmp(&other))
        })
    })?;
    let equals = outcomes
        .iter()
        .filter(|other| cost(other) == cost(outcome))
        .count();
    let per = fleet.per.name();
    let mut parts = Vec::new();
    if let Some([years, low, high]) = outcome.years {
        let (years, low, high) = (number(years), number(low), number(high));
        parts.push(format!("{years} years on the battery ({low} to {high})"));
    } else if let Some(power) = &outcome.power {
        parts.push(format!("{} mW in the mean", number(power.total().joules * 1e3)));
    }
    parts.push(format!(
        "{} MB a {per}",
        number(fleet.scaled(outcome.month.wire_bytes()) / 1e6)
    ));
    if let (Some(bill), Some(tariff)) = (&outcome.bill, terms.tariff) {
        parts.push(format!(
            "{} a {per}",
            money(&tariff.currency, fleet.scaled(bill.amount))
        ));
    }
    let least = match outcomes.len() {
        1 => String::new(),
        all => {
            let what = match (&outcome.years, &outcome.power, &outcome.bill) {
                (Some(_), ..) => "lasts longest",
                (None, Some(_), _) => "needs the least energy",
                (None, None, Some(_)) => "costs the least money",
                (None, None, None) => "has the fewest bytes",
            };
            let others = match equals {
                0 | 1 => "",
                2 => ", as another does, and has no more bytes",
                _ => ", as others do, and has no more bytes than these",
            };
            format!(" {what} of {all} rows{others}")
        }
    };
    let of = match terms.fleet.devices {
        1 => String::new(),
        devices => format!("; bytes and money of {}", counted(devices.into(), "device")),
    };
    let (label, mode) = (own_label(traffic, alike), traffic.way);
    Some(format!("{label} ({mode}){least}: {}{of}.", parts.join(", ")))
}
