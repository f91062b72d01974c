//! The rules of a tariff file.

use wirecost_cost::What;
use wirecost_cost::tariff::{Period, Price, Rounding, TariffRule, Tier};
use wirecost_proto::calendar::{DAY_SECONDS, YEAR_SECONDS};
use wirecost_results::value::ValueError;

use super::shape;
use crate::electric;
use crate::error::ScenarioError;
use crate::figure::Figures;
use crate::key::names;
use crate::node::{Node, Value};
use crate::table::{Table, flag, parsed, text, time};

/// The bytes of a kilobyte of a page; a megabyte has as many kilobytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kilobyte(f64);

impl Kilobyte {
    /// What `kilobyte` of a file says: one, or both that are possible.
    pub(super) fn read(text: &str) -> Option<Vec<Self>> {
        match text {
            "1000" => Some(vec![Self(1_000.0)]),
            "1024" => Some(vec![Self(1_024.0)]),
            "unknown" => Some(vec![Self(1_000.0), Self(1_024.0)]),
            _ => None,
        }
    }

    /// Reads a size as the page writes it: `5KB`, `100 kB`, `500MB`; `KiB` has 1,024 B on every page.
    pub(super) fn size(self, text: &str) -> Result<f64, ValueError> {
        let power = |exponent| self.0.powi(exponent);
        let units = [
            ("B", 1.0),
            // Pages write kB and KB for one thing; which of 1,000 or 1,024 B it is they say elsewhere, if at all.
            ("kB", power(1)),
            ("KB", power(1)),
            ("MB", power(2)),
            ("GB", power(3)),
            ("TB", power(4)),
            ("KiB", 1_024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ];
        electric::quantity(text, &units, "a size: write 5KB, 100KiB or 500MB")
    }

    /// Reads a number of what a rule counts: a size of bytes, else a plain number.
    pub(super) fn number(self, text: &str, is_by_bytes: bool) -> Result<f64, ValueError> {
        match is_by_bytes {
            true => self.size(text),
            false => electric::quantity(
                text,
                &[("", 1.0)],
                "a number without a unit: the rule counts no bytes",
            ),
        }
    }
}

/// The rules of a file, each with whether it counts again what another one counts.
pub(super) struct Rules {
    pub(super) rules: Vec<(TariffRule, bool)>,
    pub(super) currency: String,
    pub(super) is_sourced: bool,
}

/// Reads the table `rules`.
pub(super) fn all(table: &Table<'_>, figures: &Figures, kilobyte: Kilobyte) -> Result<Rules, ScenarioError> {
    let none = || {
        table
            .error("rules", "a tariff has at least one rule")
            .with_hint("write rules: {data: {counts: packets, price: 0.40 EUR, per: 1MB}}")
    };
    let entries = table
        .get("rules")
        .and_then(Node::entries)
        .filter(|entries| !entries.is_empty());
    let mut rules = Vec::new();
    let mut currency: Option<String> = None;
    let mut is_sourced = true;
    for (key, node) in entries.ok_or_else(none)? {
        let prefix = format!("rules.{}.", key.name);
        let mut reader = Reader {
            table: Table::new(node, &prefix, &names(shape::RULE))?,
            prefix: &prefix,
            figures,
            kilobyte,
            currency: &mut currency,
            is_sourced: &mut is_sourced,
        };
        rules.push((
            reader.rule(&key.name)?,
            reader.table.one("again", flag)?.unwrap_or(false),
        ));
    }
    Ok(Rules {
        rules,
        currency: currency.unwrap_or_default(),
        is_sourced,
    })
}

struct Reader<'a> {
    table: Table<'a>,
    prefix: &'a str,
    figures: &'a Figures,
    kilobyte: Kilobyte,
    /// The currency of the prices so far.
    currency: &'a mut Option<String>,
    /// Whether all prices so far have a source.
    is_sourced: &'a mut bool,
}

impl Reader<'_> {
    fn rule(&mut self, name: &str) -> Result<TariffRule, ScenarioError> {
        let counts = self.table.many("counts", parsed)?;
        if counts.is_empty() {
            return Err(self
                .table
                .error("counts", "a rule counts something")
                .with_hint(WHAT));
        }
        let rounding = self.rounding(&counts)?;
        let mut rule = TariffRule {
            name: name.to_owned(),
            row: self.table.one("row", text)?.unwrap_or_default(),
            counts,
            with_topic: self.table.one("topic", flag)?.unwrap_or(false),
            rounding,
            price: Price::Tiers {
                tiers: Vec::new(),
                per: 1.0,
            },
            is_of_account: self.table.one("account", flag)?.unwrap_or(false),
        };
        rule.price = self.price(rule.is_by_bytes())?;
        Ok(rule)
    }

    /// A figure of the rule, as text.
    fn text(&self, key: &str) -> Result<Option<String>, ScenarioError> {
        let figure = self.figures.one(&self.table, (self.prefix, key), text)?;
        Ok(figure.map(|figure| figure.value))
    }

    /// A number of what the rule counts, above 0.
    fn number(&self, key: &str, is_by_bytes: bool) -> Result<Option<f64>, ScenarioError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let number = self.kilobyte.number(&text, is_by_bytes);
        let number = number.and_then(|number| electric::above_zero(number, &text));
        number.map(Some).map_err(|error| self.table.error(key, error))
    }

    /// A size in whole bytes.
    fn bytes(&self, key: &str) -> Result<Option<u64>, ScenarioError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let bytes = self.kilobyte.size(&text).and_then(|bytes| {
            let is_whole = bytes.fract() == 0.0 && bytes <= 1e15;
            is_whole
                .then_some(bytes as u64)
                .ok_or_else(|| ValueError::form(&text, "whole bytes"))
        });
        bytes.map(Some).map_err(|error| self.table.error(key, error))
    }

    fn rounding(&self, counts: &[What]) -> Result<Rounding, ScenarioError> {
        let is_packets = counts == [What::Packets];
        // Bytes and messages have no sum.
        if counts.contains(&What::Packets) && !is_packets {
            return Err(self
                .table
                .error("counts", "packets are counted by a rule of their own, in bytes"));
        }
        let has_sizes = counts.iter().all(|what| what.is_message());
        let foreign: &[&str] = match (is_packets, has_sizes) {
            (true, _) => &["unit", "topic"],
            (false, true) => &["tunnel", "tunnel_down", "round", "each", "cut"],
            (false, false) => &[
                "unit",
                "least",
                "topic",
                "tunnel",
                "tunnel_down",
                "round",
                "each",
                "cut",
            ],
        };
        // A key without effect is mostly a rule that was copied: the price would not be what its author means.
        if let Some(key) = foreign.iter().find(|key| self.table.get(key).is_some()) {
            let what: Vec<&str> = counts.iter().map(|what| what.name()).collect();
            let message = format!("it has no effect on a rule that counts {}", what.join(", "));
            return Err(self.table.error(key, message));
        }
        let (unit, least) = (self.bytes("unit")?, self.bytes("least")?);
        if is_packets {
            return self.packets(least);
        }
        match (unit, least) {
            (Some(_), Some(_)) => Err(self
                .table
                .error("least", "a message has units or a least size, not both")),
            // A unit of 0 would divide by zero.
            (Some(unit), None) => Ok(Rounding::Units(unit.max(1))),
            (None, Some(least)) => Ok(Rounding::AtLeast(least)),
            (None, None) => Ok(Rounding::Whole),
        }
    }

    fn packets(&self, least: Option<u64>) -> Result<Rounding, ScenarioError> {
        let tunnel = self.bytes("tunnel")?.unwrap_or(0);
        let cut = self.figures.one(&self.table, (self.prefix, "cut"), time)?;
        Ok(Rounding::Packets {
            tunnel_bytes: [tunnel, self.bytes("tunnel_down")?.unwrap_or(tunnel)],
            unit_bytes: self.bytes("round")?.unwrap_or(1).max(1),
            least_bytes: least.unwrap_or(0),
            period: self
                .figures
                .one(&self.table, (self.prefix, "each"), parsed)?
                .map_or(Period::Month, |period| period.value),
            cut_minutes: cut.map(|cut| cut.value.as_secs().div_ceil(60).max(1)),
        })
    }

    /// A price in the currency of the file.
    fn money(&mut self, table: &Table<'_>, prefix: &str) -> Result<f64, ScenarioError> {
        let price = self.figures.required(table, (prefix, "price"), electric::price)?;
        let (amount, currency) = price.value;
        *self.is_sourced &= price.is_sourced || amount == 0.0;
        match self.currency {
            Some(other) if *other != currency => {
                let message = format!("it is in {currency}, and the price before it in {other}");
                Err(table
                    .error("price", message)
                    .with_hint("write all prices in one currency"))
            }
            _ => {
                *self.currency = Some(currency);
                Ok(amount)
            }
        }
    }

    fn price(&mut self, is_by_bytes: bool) -> Result<Price, ScenarioError> {
        let table = self.table;
        let forms = ["tiers", "a_day", "bundle"];
        let mut given = forms.into_iter().filter(|key| table.get(key).is_some());
        let (form, second) = (given.next(), given.next());
        if let Some(second) = second {
            let message = format!(
                "a rule has one kind of price, and {} is there",
                form.unwrap_or_default()
            );
            return Err(table.error(second, message).with_hint("make two rules of them"));
        }
        let free = self.number("free", is_by_bytes)?;
        let per = self.number("per", is_by_bytes)?.unwrap_or(1.0);
        // Free of the first tier, of each day or of a bundle: it could be any of these.
        if free.is_some() && form.is_some() {
            return Err(table
                .error("free", "it is about a rule with one price")
                .with_hint("write it as the first tier"));
        }
        match form {
            Some("tiers") => self.tiers(is_by_bytes, per),
            Some("a_day") => Ok(Price::Daily {
                size: self.number("a_day", is_by_bytes)?.unwrap_or(1.0),
                price: self.money(&table, self.prefix)?,
            }),
            Some(_) => self.bundle(is_by_bytes),
            None => {
                let price = self.money(&table, self.prefix)?;
                let free = free.map(|to| Tier { to, price: 0.0 });
                let last = Tier {
                    to: f64::INFINITY,
                    price,
                };
                Ok(Price::Tiers {
                    tiers: free.into_iter().chain([last]).collect(),
                    per,
                })
            }
        }
    }

    fn bundle(&mut self, is_by_bytes: bool) -> Result<Price, ScenarioError> {
        let table = self.table;
        Ok(Price::Bundle {
            size: self.number("bundle", is_by_bytes)?.unwrap_or(1.0),
            valid_seconds: self
                .figures
                .one(&table, (self.prefix, "valid"), validity)?
                .map_or(f64::INFINITY, |valid| valid.value),
            price: self.money(&table, self.prefix)?,
        })
    }

    fn tiers(&mut self, is_by_bytes: bool, per: f64) -> Result<Price, ScenarioError> {
        let table = self.table;
        let Some(Node {
            value: Value::List(nodes),
            ..
        }) = table.get("tiers")
        else {
            return Err(table.error("tiers", "it must be a list").with_hint(TIERS));
        };
        let mut tiers: Vec<Tier> = Vec::new();
        let prefix = format!("{}tiers.", self.prefix);
        for (index, node) in nodes.iter().enumerate() {
            let inner = Table::new(node, &prefix, &names(shape::TIER))?;
            let to = match inner.one("to", text)? {
                Some(text) => {
                    let number = self.kilobyte.number(&text, is_by_bytes);
                    number.map_err(|error| inner.error("to", error))?
                }
                None => f64::INFINITY,
            };
            let before = tiers.last().map_or(0.0, |tier| tier.to);
            let is_last = index + 1 == nodes.len();
            // Tiers are walked through from below, each from where the one before ends.
            if to <= before {
                return Err(inner
                    .error("to", "it is not above the tier before it")
                    .with_hint(TIERS));
            }
            // Usage above the last limit would have no price, and a tier behind one without a limit would never be reached.
            if is_last == to.is_finite() {
                return Err(inner
                    .error("to", "the last tier, and it alone, has no upper limit")
                    .with_hint(TIERS));
            }
            let price = self.money(&inner, &prefix)?;
            tiers.push(Tier { to, price });
        }
        match tiers.is_empty() {
            true => Err(table.error("tiers", "the list is empty").with_hint(TIERS)),
            false => Ok(Price::Tiers { tiers, per }),
        }
    }
}

const TIERS: &str = "write tiers: [{to: 250MB, price: 0 USD}, {price: 0.0045 USD}]";
const WHAT: &str = "write counts: packets, or a list of publish, delivery, connect, subscribe, acknowledgement, keep_alive, close, \
    retained, rule, action, operation, or minutes, sessions, fee";

/// Reads how long a bundle is valid, in seconds: `10y`, `90d`. A year has 365 days.
fn validity(text: &str) -> Result<f64, ValueError> {
    let years = text
        .strip_suffix('y')
        .and_then(|years| years.trim().parse::<f64>().ok());
    let seconds = match years {
        Some(years) => years * YEAR_SECONDS,
        None => time(text)?.as_secs_f64(),
    };
    Some(seconds)
        .filter(|seconds| *seconds > 0.0 && *seconds < 1e6 * DAY_SECONDS)
        .ok_or_else(|| ValueError::form(text, "a time above 0: write 10y or 90d"))
}
