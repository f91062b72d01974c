//! What post-quantum security adds: each stack with today's handshake beside one that a quantum computer does not break.

use std::time::Duration;

use serde_json::{Value, json};
use wirecost_account::Way as Connection;
use wirecost_proto::shown;
use wirecost_proto::units::counted;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate::{Chain, KeyKind};
use wirecost_security::provider::{Group, Groups};

use super::Inputs;
use super::rows::Row;
use crate::commands::cost::table::number;

/// Months of a year.
const MONTHS: f64 = 12.0;

/// The handshake of today with the group and the signatures that stay safe: X25519MLKEM768, and ML-DSA-65 in as many certificates, at
/// most three. The sizes of a public chain of this kind are not known: no public authority issues one.
pub(super) fn secured(today: &Handshake) -> Handshake {
    let certificates = today.chain.sizes().map(|sizes| sizes.certificates().count());
    let chain = match certificates {
        None => today.chain,
        Some(1) => Chain::Leaf,
        Some(2) => Chain::Intermediate,
        Some(_) => Chain::CrossSigned,
    };
    Handshake {
        certificate: Some(KeyKind::MlDsa65),
        chain,
        group: Some(Groups::one(Group::X25519MlKem768)),
        server_group: None,
        cipher: today.cipher,
        // DTLS has neither of them, and says so.
        dtls_leaf: false,
    }
}

/// What a stack has more of than today.
pub(super) struct Added {
    stack: String,
    way: String,
    /// What is more, or why it cannot be said.
    more: Result<More, String>,
}

struct More {
    bytes: f64,
    /// Seconds of a reading; `None` where no reading arrived.
    time: Option<f64>,
    /// Months of the battery that are gone; `None` without a battery.
    months: Option<f64>,
    money: Option<f64>,
}

/// What each stack adds in each of its ways, in the order of today.
pub(super) fn added(today: &[Row], later: &[Row]) -> Vec<Added> {
    let mut added: Vec<Added> = Vec::new();
    for row in today {
        let way = row.way.name();
        let is_named = |other: &Added| other.stack == row.stack.to_string() && other.way == way;
        // A way without a connection has no handshake to change.
        if row.way.connection == Connection::NoConnection || added.iter().any(is_named) {
            continue;
        }
        let same = later
            .iter()
            .find(|other| other.stack == row.stack && other.way == row.way);
        // A stack that was not run has one row, without a way.
        let not_run = later
            .iter()
            .find(|other| other.stack == row.stack && other.figures.is_none());
        added.push(Added {
            stack: row.stack.to_string(),
            more: more(row, same, not_run),
            way,
        });
    }
    added
}

fn more(today: &Row, later: Option<&Row>, instead: Option<&Row>) -> Result<More, String> {
    let Some(old) = &today.figures else {
        return Err(today.fails.join("; "));
    };
    let later = later.or(instead);
    let Some((row, new)) = later.and_then(|row| Some((row, row.figures.as_ref()?))) else {
        let why = later.map(|row| row.fails.join("; "));
        return Err(why.unwrap_or_else(|| "not run".to_owned()));
    };
    let seconds = |row: &Row| row.time().map(|time| time.total().as_secs_f64());
    let years = |figures: &super::rows::Figures| figures.outcome.years.map(|[years, ..]| years);
    let money = |figures: &super::rows::Figures| figures.outcome.bill.as_ref().map(|bill| bill.amount);
    Ok(More {
        bytes: new.bytes.mean.mean - old.bytes.mean.mean,
        time: seconds(row).zip(seconds(today)).map(|(new, old)| new - old),
        months: years(old).zip(years(new)).map(|(old, new)| (old - new) * MONTHS),
        money: money(old).zip(money(new)).map(|(old, new)| new - old),
    })
}

/// One line for each, below a line that says what is compared.
pub(super) fn lines(inputs: &Inputs<'_>, added: &[Added]) -> Vec<String> {
    if added.is_empty() {
        return Vec::new();
    }
    let currency = inputs
        .tariff
        .as_ref()
        .map_or("", |tariff| tariff.currency.as_str());
    let certificates = match secured(&inputs.handshake).chain {
        Chain::Leaf => "a certificate".to_owned(),
        Chain::Intermediate => "2 certificates".to_owned(),
        Chain::CrossSigned => "3 certificates".to_owned(),
        Chain::RawPublicKey => "a raw public key".to_owned(),
        Chain::Sized(sizes) => counted(sizes.certificates().count() as u64, "certificate"),
    };
    let mut lines = vec![format!(
        "what X25519MLKEM768 and {certificates} with ML-DSA-65 add to a reading, to the battery and to a month:"
    )];
    lines.extend(added.iter().map(|added| {
        let said = match &added.more {
            Err(why) => why.clone(),
            Ok(more) => more.said(currency),
        };
        format!("- {}, {}: {said}", added.stack, added.way)
    }));
    lines
}

impl More {
    fn said(&self, currency: &str) -> String {
        let bytes = self.bytes.round();
        if bytes == 0.0 {
            return "nothing".to_owned();
        }
        let mut said = format!("{} B", number(bytes));
        if let Some(seconds) = self.time {
            let time = shown::time(Duration::from_secs_f64(seconds.abs()));
            let sign = if seconds < 0.0 { "-" } else { "" };
            said += &format!(", {sign}{time}");
        }
        if let Some(months) = self.months {
            said += &format!(", {} months of battery less", number(months));
        }
        if let Some(money) = self.money {
            said += &format!(", {currency} {money:.2} a month");
        }
        said
    }
}

/// The same as JSON.
pub(super) fn json(added: &[Added]) -> Value {
    let of = |added: &Added| {
        let more = added.more.as_ref().ok();
        json!({
            "stack": added.stack,
            "way": added.way,
            "not_known": added.more.as_ref().err(),
            "bytes_per_reading": more.map(|more| more.bytes),
            "time_s": more.and_then(|more| more.time),
            "battery_months": more.and_then(|more| more.months),
            "money_per_month": more.and_then(|more| more.money),
        })
    };
    added.iter().map(of).collect()
}
