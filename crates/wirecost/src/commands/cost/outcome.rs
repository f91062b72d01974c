//! The figures of each device or cell, and their JSON.

use serde_json::{Value, json};
use wirecost_cost::tariff::{Bill, Charge, MONTH_SECONDS};
use wirecost_cost::{Tariff, Usage};
use wirecost_energy::{Account, Battery, Device, Energy, Part, Purposes, Repeated, State, mean_power};
use wirecost_proto::{Cause, Phase};

use wirecost_scenario::tariff;

use super::traffic::{Source, Traffic};
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// What the command line asks for.
pub struct Asked<'a> {
    pub device: Option<&'a Device>,
    pub tariff: Option<&'a Tariff>,
    pub battery: Option<Battery>,
    pub devices: u32,
}

/// The figures of one device or cell.
pub struct Outcome {
    /// Usage of one device per month.
    pub month: Usage,
    /// Mean power by purpose, in watts; `None` without a device.
    pub power: Option<Purposes>,
    /// Years until the battery is empty: as the figures are, at the low end and at the high end of their spread.
    pub years: Option<[f64; 3]>,
    /// The bill of one device per month; `None` without a tariff, or where the tariff's service does not take the stack.
    pub bill: Option<Bill>,
    /// Why that service does not take it.
    pub refusal: Option<String>,
    /// Energy of one device per month, in joules; `None` without a device.
    pub month_energy: Option<Energy>,
    /// Whether the readings overlap with their tails, so that energy is an upper bound.
    pub overlaps: bool,
}

impl Asked<'_> {
    /// The figures of some traffic.
    pub fn outcome(&self, traffic: &Traffic) -> Result<Outcome, Failure> {
        let month = traffic.cycles.iter().fold(Usage::default(), |sum, cycle| {
            sum.plus(&cycle.usage.scaled(MONTH_SECONDS / cycle.every))
        });
        let power = self.device.map(|device| {
            let repeated = traffic.cycles.iter().filter_map(|cycle| {
                let account = cycle.account.as_ref()?;
                let every = cycle.every;
                Some(Repeated { account, every })
            });
            mean_power(device, &repeated.collect::<Vec<_>>())
        });
        let years = match (self.battery, &power) {
            (Some(battery), Some(power)) => Some(years(battery, power.total())?),
            _ => None,
        };
        let asked = self.tariff.zip(traffic.stack);
        let refusal = asked.and_then(|(tariff, stack)| tariff::refusal(tariff, stack));
        let is_each = !matches!(traffic.mode.as_str(), "as captured" | "as run");
        Ok(Outcome {
            bill: self.bill(&month).filter(|_| refusal.is_none()),
            refusal,
            month,
            month_energy: power.as_ref().map(|power| power.total().scaled(MONTH_SECONDS)),
            power,
            years,
            overlaps: is_each && traffic.cycles.iter().any(|cycle| cycle.seconds() > cycle.every),
        })
    }

    fn bill(&self, month: &Usage) -> Option<Bill> {
        self.tariff.map(|tariff| tariff.bill(month))
    }

    /// The figures as JSON.
    pub fn json(&self, arguments: &CostArguments, source: &Source, outcomes: &[Outcome]) -> Value {
        let rows = source.traffic.iter().zip(outcomes);
        json!({
            "source": arguments.source.display().to_string(),
            "device": self.device.map(device_json),
            "tariff": self.tariff.map(tariff_json),
            "battery_joules": self.battery.map(|battery| battery.joules),
            "self_discharge_per_year": self.battery.map(|battery| battery.self_discharge),
            "session_lifetime_s": arguments.session_lifetime.map(|lifetime| lifetime.as_secs_f64()),
            "nat_timeout_s": arguments.nat_timeout.map(|nat| json!({
                "udp": nat.udp.map(|timeout| timeout.as_secs_f64()), "tcp": nat.tcp.map(|timeout| timeout.as_secs_f64()),
            })),
            "devices": self.devices,
            "month_seconds": MONTH_SECONDS,
            "notes": source.notes,
            "rows": rows.map(|(traffic, outcome)| self.row_json(traffic, outcome)).collect::<Vec<Value>>(),
        })
    }

    fn row_json(&self, traffic: &Traffic, outcome: &Outcome) -> Value {
        let fleet = f64::from(self.devices);
        let month = &outcome.month;
        let readings = traffic.cycles.first();
        json!({
            "traffic": traffic.label,
            "mode": traffic.mode,
            "interval_s": traffic.interval,
            "keep_alive_s": traffic.keep_alive,
            "bytes_once": traffic.bytes_each(),
            "readings_of_once": readings.map(|cycle| cycle.readings),
            "once": readings.and_then(|cycle| cycle.account.as_ref()).map(account_json),
            "mean_power_w": outcome.power.as_ref().map(purposes_json),
            "energy_is_upper_bound": outcome.overlaps,
            "battery_years": outcome.years.map(|[years, low, high]| json!({"years": years, "low": low, "high": high})),
            "month": {
                "packets_up": month.packets[0], "packets_down": month.packets[1],
                "bytes_up": month.bytes[0], "bytes_down": month.bytes[1],
                "sessions": month.sessions, "messages": month.messages, "keep_alives": month.keep_alives,
                "joules": outcome.month_energy.map(energy_json),
            },
            "fleet_month": {
                "bytes": month.wire_bytes() * fleet,
                "joules": outcome.month_energy.map(|energy| energy_json(energy.scaled(fleet))),
            },
            "bill": outcome.bill.map(|bill| json!({
                "counted_bytes": bill.counted_bytes, "charged_bytes": bill.charged_bytes,
                "charged_messages": bill.charged_messages, "amount": bill.amount,
                "fleet_charged_bytes": bill.charged_bytes * fleet, "fleet_amount": bill.amount * fleet,
            })),
            "not_billed": outcome.refusal,
        })
    }
}

/// Years as the figures are, and at the ends of their spread, the shorter first.
fn years(battery: Battery, power: Energy) -> Result<[f64; 3], Failure> {
    let years = |watts| {
        battery.years(watts).ok_or_else(|| {
            Failure::usage(
                "nothing drains the battery: the device has no power and the battery no self-discharge",
            )
            .with_hint("give the device's rest a power, or --self-discharge a part above 0%")
        })
    };
    Ok([years(power.joules)?, years(power.high)?, years(power.low)?])
}

fn device_json(device: &Device) -> Value {
    let figures = device.provenance.iter().map(|figure| {
        json!({
            "key": figure.key,
            "line": figure.line,
            "source": figure.source.as_deref().unwrap_or("assumed"),
        })
    });
    json!({
        "file": device.name,
        "title": device.title,
        "figures": figures.collect::<Vec<Value>>(),
    })
}

fn tariff_json(tariff: &Tariff) -> Value {
    json!({
        "file": tariff.name,
        "title": tariff.title,
        "price": tariff.price,
        "currency": tariff.currency,
        "price_is_assumed": !tariff.is_sourced,
        "base_fee": tariff.base_fee,
        "valid_s": tariff.valid_seconds,
        "protocols": tariff::accepted(tariff),
        "charges": match tariff.charge {
            Charge::Bytes { .. } => "bytes",
            Charge::Messages { .. } => "messages",
        },
    })
}

fn energy_json(energy: Energy) -> Value {
    json!({"mean": energy.joules, "low": energy.low, "high": energy.high})
}

fn account_json(account: &Account) -> Value {
    let states = State::ALL.map(|state| {
        let figures = json!({
            "seconds": account.nanos(state) as f64 / 1e9,
            "joules": energy_json(account.of_state(state)),
        });
        (state.name().to_owned(), figures)
    });
    json!({
        "seconds": account.total_nanos() as f64 / 1e9,
        "joules": energy_json(account.total()),
        "states": serde_json::Map::from_iter(states),
        "joules_by": purposes_json(account.purposes()),
    })
}

/// Sums by part, by phase and by cause. Each of the three sums to the total, phases and causes together with the rest.
fn purposes_json(purposes: &Purposes) -> Value {
    let parts = Part::ALL.map(|part| (part.name().to_owned(), energy_json(purposes.of_part(part))));
    let phases = Phase::ALL.map(|phase| (phase.name().to_owned(), energy_json(purposes.of_phase(phase))));
    let causes = Cause::ALL.map(|cause| (cause.name().to_owned(), energy_json(purposes.of_cause(cause))));
    json!({
        "total": energy_json(purposes.total()),
        "part": serde_json::Map::from_iter(parts),
        "phase": serde_json::Map::from_iter(phases),
        "cause": serde_json::Map::from_iter(causes),
    })
}
