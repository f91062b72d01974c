//! A bill: what each rule counts and what it costs, by what it is for, and the next cheaper step.

use std::collections::BTreeMap;

use wirecost_proto::Phase;
use wirecost_proto::calendar::{DAY_SECONDS, MONTH_DAYS};

use super::{Period, Price, Rounding, Tariff, TariffRule};
use crate::usage::{SentMessage, Usage, What};

/// What a rule charges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleCharge {
    /// The name of the rule.
    pub rule: String,
    /// What it counts, rounded: bytes, messages, minutes, sessions.
    pub quantity: f64,
    /// Money.
    pub amount: f64,
}

/// The nearest lower step of a bill.
#[derive(Clone, Debug, PartialEq)]
pub struct CheaperStep {
    /// The name of the rule.
    pub rule: String,
    /// How much less must be counted, of one device in a month: bytes for a rule of bytes, else messages and the like; with
    /// `in_message` bytes of each message.
    pub less: f64,
    /// The same as a part of what is counted.
    pub part: f64,
    /// Whether `less` is bytes of each message.
    pub in_message: bool,
    /// Money that it saves.
    pub saves: f64,
}

/// What a tariff charges for a month.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    /// Bytes counted, tunnel headers included; 0 for a tariff without bytes.
    pub counted_bytes: f64,
    /// Bytes after rounding; 0 for a tariff without bytes.
    pub charged_bytes: f64,
    /// Messages charged; 0 for a tariff without them.
    pub charged_messages: f64,
    /// Money, in the currency of the tariff.
    pub amount: f64,
    /// What each rule charges.
    pub lines: Vec<RuleCharge>,
    /// Money by what it is for; sums to the amount.
    pub causes: Vec<(What, f64)>,
    /// The nearest lower step; `None` where the bill follows the use.
    pub next: Option<CheaperStep>,
    /// Money with the other kilobyte, where the page does not say which one it is.
    pub other_amount: Option<f64>,
}

impl Bill {
    /// The bill `times` times over. The next step stays that of one device in a month.
    #[must_use]
    pub fn scaled(mut self, times: f64) -> Self {
        self.counted_bytes *= times;
        self.charged_bytes *= times;
        self.charged_messages *= times;
        self.amount *= times;
        for line in &mut self.lines {
            line.quantity *= times;
            line.amount *= times;
        }
        self.causes.iter_mut().for_each(|(_, amount)| *amount *= times);
        self.other_amount = self.other_amount.map(|amount| amount * times);
        self
    }
}

/// How many devices share an account, and how many days the usage is of.
#[derive(Clone, Copy)]
struct Shared {
    devices: f64,
    days: f64,
}

/// What a rule counts.
struct Counted {
    /// After rounding.
    quantity: f64,
    /// Before rounding, by what it is for.
    parts: Vec<(What, f64)>,
}

impl Counted {
    /// Before rounding.
    fn raw(&self) -> f64 {
        self.parts.iter().map(|(_, part)| part).sum()
    }
}

impl Tariff {
    /// The bill of one of some equal devices for a month with this usage: its share, where a rule is of all devices together.
    pub fn bill(&self, month: &Usage, devices: u32) -> Bill {
        self.bill_of_days(month, devices, MONTH_DAYS)
    }

    /// The same of the usage of some days, with the fees and tiers of a whole month.
    pub fn bill_of_days(&self, used: &Usage, devices: u32, days: f64) -> Bill {
        let shared = Shared {
            devices: f64::from(devices.max(1)),
            days,
        };
        let mut bill = Bill::default();
        let mut causes: BTreeMap<What, f64> = BTreeMap::new();
        for rule in &self.rules {
            let counted = rule.count(used);
            let amount = rule.amount(counted.quantity, shared);
            bill.enter(rule, &counted, amount);
            let raw = counted.raw();
            for (what, part) in &counted.parts {
                *causes.entry(*what).or_default() += amount * part / raw.max(f64::MIN_POSITIVE);
            }
            // A bundle or a step is paid without use, too.
            if raw == 0.0 && amount > 0.0 {
                *causes.entry(What::Fee).or_default() += amount;
            }
            bill.next = cheaper(bill.next, rule.next_step(&counted, used, shared));
        }
        let amount = self.rounded_money(bill.amount * shared.devices, days) / shared.devices;
        let rounding = if bill.amount > 0.0 {
            amount / bill.amount
        } else {
            1.0
        };
        bill.causes = causes
            .into_iter()
            .filter(|(_, amount)| *amount > 0.0)
            .map(|(what, amount)| (what, amount * rounding))
            .collect();
        bill.causes.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        bill.amount = amount;
        let other = self.other_kilobyte.as_ref();
        bill.other_amount = other.map(|other| other.bill_of_days(used, devices, days).amount);
        bill
    }

    /// Money of all devices, rounded up as the tariff says.
    fn rounded_money(&self, amount: f64, days: f64) -> f64 {
        match self.money_step {
            None => amount,
            Some((step, period)) => {
                let times = match period {
                    Period::Day => days,
                    Period::Session | Period::Direction | Period::Month => 1.0,
                };
                up(amount / times, step) * times
            }
        }
    }
}

impl Bill {
    fn enter(&mut self, rule: &TariffRule, counted: &Counted, amount: f64) {
        match rule.rounding {
            Rounding::Packets { .. } | Rounding::AtLeast(_) => {
                self.counted_bytes += counted.raw();
                self.charged_bytes += counted.quantity;
            }
            Rounding::Units(_) | Rounding::Whole if rule.counts.iter().any(|what| what.is_message()) => {
                self.charged_messages += counted.quantity;
            }
            Rounding::Units(_) | Rounding::Whole => {}
        }
        self.amount += amount;
        self.lines.push(RuleCharge {
            rule: rule.name.clone(),
            quantity: counted.quantity,
            amount,
        });
    }
}

impl TariffRule {
    /// What the rule counts of a device.
    fn count(&self, used: &Usage) -> Counted {
        let mut parts = Vec::new();
        for what in &self.counts {
            match what {
                What::Packets => parts.extend(self.packets(used)),
                What::Minutes => {
                    let minutes = used.sessions.iter();
                    parts.push((
                        *what,
                        minutes.map(|(minutes, count)| *minutes as f64 * count).sum(),
                    ));
                }
                // A device has at most one session at a time.
                What::Sessions => parts.push((*what, f64::from(u8::from(used.sessions() > 0.0)))),
                What::Fee => parts.push((*what, 1.0)),
                message => parts.push((*message, self.messages(used, *message))),
            }
        }
        let raw: f64 = parts.iter().map(|(_, part)| part).sum();
        let quantity = match self.rounding {
            Rounding::Packets { .. } => self.rounded_packets(used, raw),
            Rounding::Whole | Rounding::Units(_) | Rounding::AtLeast(_) => raw,
        };
        Counted { quantity, parts }
    }

    /// Bytes of a message that count.
    const fn size(&self, message: &SentMessage) -> u64 {
        match self.with_topic {
            true => message.header_bytes + message.payload_bytes,
            false => message.payload_bytes,
        }
    }

    /// Units or bytes of the messages of a kind.
    fn messages(&self, used: &Usage, what: What) -> f64 {
        let of_kind = used.messages.iter().filter(|(message, _)| message.what == what);
        let each = |message: &SentMessage| match self.rounding {
            Rounding::Units(unit) => self.size(message).div_ceil(unit.max(1)).max(1),
            Rounding::AtLeast(least) => self.size(message).max(least),
            Rounding::Whole | Rounding::Packets { .. } => 1,
        };
        of_kind.map(|(message, count)| each(message) as f64 * count).sum()
    }

    /// Bytes of packets with their tunnel, by what they are for.
    fn packets(&self, used: &Usage) -> Vec<(What, f64)> {
        let Rounding::Packets { tunnel_bytes, .. } = self.rounding else {
            return Vec::new();
        };
        let each = Phase::ALL.into_iter().zip(&used.carried);
        let bytes = each.map(|(phase, carried)| {
            let ways = (0..2).map(|way| carried.bytes[way] + carried.packets[way] * tunnel_bytes[way] as f64);
            (What::of_phase(phase), ways.sum())
        });
        bytes.collect()
    }

    /// A month's bytes, rounded up in each of its equal periods.
    fn rounded_packets(&self, used: &Usage, all: f64) -> f64 {
        let Rounding::Packets {
            tunnel_bytes,
            unit_bytes,
            least_bytes,
            period,
            cut_minutes,
        } = self.rounding
        else {
            return all;
        };
        let sessions = cut_minutes.map_or_else(|| used.sessions(), |most| used.cut_sessions(most));
        let each = |bytes: f64, periods: f64| {
            let least = if bytes > 0.0 { least_bytes as f64 } else { 0.0 };
            up(bytes / periods, unit_bytes.max(1) as f64).max(least) * periods
        };
        match period {
            Period::Session => each(all, sessions.max(1.0)),
            Period::Direction => {
                let ways = [0, 1].map(|way| {
                    let bytes = used.bytes()[way] + used.packets()[way] * tunnel_bytes[way] as f64;
                    each(bytes, sessions.max(1.0))
                });
                ways.iter().sum()
            }
            Period::Day => each(all, used.days_with_traffic()),
            Period::Month => each(all, 1.0),
        }
    }

    /// The money of one device for a quantity of one device.
    fn amount(&self, quantity: f64, shared: Shared) -> f64 {
        let is_one = self.counts == [What::Fee];
        let (all, devices) = match (self.is_of_account, is_one) {
            (true, true) => (quantity, shared.devices),
            (true, false) => (quantity * shared.devices, shared.devices),
            (false, _) => (quantity, 1.0),
        };
        self.price.charge(all, shared.days) / devices
    }

    /// The nearest lower step of the rule, for one device in a month.
    fn next_step(&self, counted: &Counted, used: &Usage, shared: Shared) -> Option<CheaperStep> {
        let step = |less: f64, lower: f64, raw: f64, in_message: bool| {
            let saves = self.amount(counted.quantity, shared) - self.amount(lower, shared);
            (saves > 1e-12 && less > 0.0).then(|| CheaperStep {
                rule: self.name.clone(),
                less,
                part: less / raw.max(f64::MIN_POSITIVE),
                in_message,
                saves,
            })
        };
        let raw = counted.raw();
        let share = if self.is_of_account { shared.devices } else { 1.0 };
        if let Some(limit) = self.price.limit_below(counted.quantity * share, shared.days) {
            // What is rounded must itself come below the limit.
            return step(
                counted.quantity - limit / share,
                limit / share,
                counted.quantity,
                false,
            );
        }
        match self.rounding {
            Rounding::Packets {
                unit_bytes, period, ..
            } if unit_bytes > 1 => {
                let periods = match period {
                    Period::Session | Period::Direction => used.sessions().max(1.0),
                    Period::Day => used.days_with_traffic(),
                    Period::Month => 1.0,
                };
                let lower = counted.quantity - unit_bytes as f64 * periods;
                // A started byte above the lower step is enough for the higher one.
                step(raw - lower, lower, raw, false).filter(|_| lower > 0.0)
            }
            Rounding::Units(unit) => {
                let kinds = used.messages.iter();
                let large = kinds
                    .filter(|(message, _)| self.counts.contains(&message.what) && self.size(message) > unit);
                let (message, count) = large.min_by_key(|(message, _)| (self.size(message) - 1) % unit)?;
                let less = (self.size(message) - 1) % unit + 1;
                step(
                    less as f64,
                    counted.quantity - count,
                    self.size(message) as f64,
                    true,
                )
            }
            Rounding::Packets { .. } | Rounding::Whole | Rounding::AtLeast(_) => None,
        }
    }
}

impl Price {
    /// The money of a quantity of some days.
    fn charge(&self, quantity: f64, days: f64) -> f64 {
        match self {
            Self::Tiers { tiers, per } => {
                let mut from = 0.0;
                let mut money = 0.0;
                for tier in tiers {
                    money += (quantity.min(tier.to) - from).max(0.0) / per * tier.price;
                    from = tier.to;
                }
                money
            }
            Self::Daily { size, price } => (up(quantity / days, *size) / size).max(1.0) * price,
            Self::Bundle {
                size,
                valid_seconds,
                price,
            } => (quantity / size).max(days * DAY_SECONDS / valid_seconds) * price,
        }
    }

    /// The limit of a price that a quantity is above: that of a free tier, or the lower step of a day's number.
    fn limit_below(&self, quantity: f64, days: f64) -> Option<f64> {
        match self {
            Self::Tiers { tiers, .. } => {
                let free = tiers.first().filter(|tier| tier.price == 0.0)?;
                (quantity > free.to).then_some(free.to)
            }
            Self::Daily { size, .. } => {
                let steps = (up(quantity / days, *size) / size).round();
                (steps > 1.0).then_some((steps - 1.0) * size * days)
            }
            Self::Bundle { .. } => None,
        }
    }

    /// The same price without its free tier, of which some examples of the providers leave it out.
    #[must_use]
    pub fn without_free(self) -> Self {
        match self {
            Self::Tiers { mut tiers, per } if tiers.len() > 1 && tiers[0].price == 0.0 => {
                let free = tiers.remove(0).to;
                tiers.iter_mut().for_each(|tier| tier.to -= free);
                Self::Tiers { tiers, per }
            }
            other => other,
        }
    }
}

/// The step that needs the smaller change.
fn cheaper(one: Option<CheaperStep>, other: Option<CheaperStep>) -> Option<CheaperStep> {
    match (one, other) {
        (Some(one), Some(other)) if other.part < one.part => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// A value, rounded up to a multiple. A mean that is whole but for the error of its division must not start another unit.
fn up(value: f64, unit: f64) -> f64 {
    (value / unit - 1e-9).ceil().max(0.0) * unit
}
