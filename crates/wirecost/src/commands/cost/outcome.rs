//! The figures of each device or cell as JSON.

use serde_json::{Value, json};
use wirecost_account::{Figures, Fleet, FleetFigures, ReadingTime, Terms, Traffic};
use wirecost_cost::{Tariff, Usage, What};
use wirecost_energy::{Account, Device, Energy, Part, Purposes, State};
use wirecost_link::nat::NatPort;
use wirecost_proto::calendar::{MONTH_SECONDS, Period};
use wirecost_proto::{Cause, Phase};

use wirecost_scenario::tariff;

use super::bill;
use super::traffic::Source;
use crate::arguments::CostArguments;

/// All figures as JSON.
pub fn json(terms: &Terms<'_>, arguments: &CostArguments, source: &Source, figures: &[Figures]) -> Value {
    let rows = source.traffic.iter().zip(figures);
    json!({
        "source": arguments.source.display().to_string(),
        "device": terms.device.map(device_json),
        "tariff": terms.tariff.map(tariff_json),
        "battery_joules": terms.battery.map(|battery| battery.joules),
        "self_discharge_per_year": terms.battery.map(|battery| battery.chemistry.self_discharge),
        "shelf_life_years": terms.battery.map(|battery| battery.chemistry.shelf_years),
        "battery_too_weak": terms.too_weak().map(|weak| weak.to_string()),
        "session_lifetime_s": arguments.session_lifetime.map(|lifetime| lifetime.as_secs_f64()),
        "nat_timeout_s": arguments.translator.nat_timeout.map(|nat| json!({
            "udp": nat.udp.map(|timeout| timeout.as_secs_f64()), "tcp": nat.tcp.map(|timeout| timeout.as_secs_f64()),
        })),
        "nat": arguments.translator.nat.map(NatPort::name),
        "devices": terms.fleet.devices,
        "per": terms.fleet.period.name(),
        // Months differ in length, so a reader needs the one that the figures mean.
        "month_seconds": MONTH_SECONDS,
        "notes": source.notes,
        "rows": rows.map(|(traffic, figures)| row_json(terms, traffic, figures)).collect::<Vec<Value>>(),
    })
}

fn row_json(terms: &Terms<'_>, traffic: &Traffic, figures: &Figures) -> Value {
    let of_month = figures.of_fleet(Fleet {
        period: Period::Month,
        ..terms.fleet
    });
    let fleet_bill = of_month.bill.clone().unwrap_or_default();
    let readings = traffic.cycles.first();
    json!({
        "traffic": traffic.label,
        "mode": traffic.way.to_string(),
        "interval_s": traffic.interval,
        "keep_alive_s": traffic.keep_alive,
        "bytes_once": traffic.bytes_each(),
        "readings_of_once": readings.map(|cycle| cycle.readings),
        "joules_each": figures.each.map(energy_json),
        "joules_each_above_rest": terms.device.and_then(|device| figures.above_rest(device)),
        "mah_each": terms.device.and_then(|device| figures.each.map(|each| device.charge_mah(each.joules))),
        "joules_session": figures.session().map(energy_json),
        "mah_session": terms.device.and_then(|device| figures.session().map(|session| device.charge_mah(session.joules))),
        "messages_per_battery": figures.messages_of_battery().map(|[messages, low, high]| json!({
            "messages": messages, "low": low, "high": high,
        })),
        "once": readings.and_then(|cycle| cycle.account.as_ref()).map(account_json),
        "mean_power_w": figures.power.as_ref().map(purposes_json),
        "energy_is_upper_bound": figures.overlaps,
        "battery_years": figures.years.map(years_json),
        "time_s": figures.time.map(|time| time.total().as_secs_f64()),
        "time_parts_s": figures.time.map(time_json),
        "time_is": figures.time.map(|time| time.statistic.name()),
        "month": usage_json(&figures.month, figures.month_energy),
        "fleet_month": {
            "bytes": of_month.usage.wire_bytes(),
            "joules": of_month.energy.map(energy_json),
        },
        "fleet": fleet_json(&figures.of_fleet(terms.fleet)),
        "account": whole_json(figures, terms.fleet.devices),
        "bill": figures.bill.as_ref().map(|bill| {
            let mut value = bill::json(bill);
            value["fleet_charged_bytes"] = json!(fleet_bill.charged_bytes);
            value["fleet_amount"] = json!(fleet_bill.amount);
            value["next_step"] = json!(bill.next.as_ref().map(bill::step_json));
            value
        }),
        "not_billed": figures.refusal,
    })
}

fn usage_json(usage: &Usage, energy: Option<Energy>) -> Value {
    let ([packets_up, packets_down], [bytes_up, bytes_down]) = (usage.packets(), usage.bytes());
    json!({
        "packets_up": packets_up, "packets_down": packets_down,
        "bytes_up": bytes_up, "bytes_down": bytes_down,
        "sessions": usage.sessions(), "messages": usage.count(What::Publish), "keep_alives": usage.count(What::KeepAlive),
        "joules": energy.map(energy_json),
    })
}

/// Years of a battery, as the figures are, and at the ends of their spread.
pub fn years_json([years, low, high]: [f64; 3]) -> Value {
    json!({"years": years, "low": low, "high": high})
}

/// The parts of the time of a reading.
pub fn time_json(time: ReadingTime) -> Value {
    json!({
        "wait": time.wait.as_secs_f64(), "wake": time.wake.as_secs_f64(),
        "connect": time.connect.as_secs_f64(), "message": time.message.as_secs_f64(),
    })
}

/// The whole account: of a message, and of one device and all devices in a day, a month and a year.
pub fn whole_json(figures: &Figures, devices: u32) -> Value {
    let of = |devices| {
        let periods = [Period::Day, Period::Month, Period::Year].map(|period| {
            let figures = fleet_json(&figures.of_fleet(Fleet { devices, period }));
            (period.name().to_owned(), figures)
        });
        Value::Object(serde_json::Map::from_iter(periods))
    };
    json!({
        "message": figures.of_message().as_ref().map(fleet_json),
        "device": of(1),
        "fleet": of(devices),
    })
}

/// The figures of all devices in the period that is asked for, as the table has them.
pub fn fleet_json(fleet: &FleetFigures) -> Value {
    let mut value = usage_json(&fleet.usage, fleet.energy);
    value["bill"] = json!(fleet.bill.as_ref().map(bill::json));
    value
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
        "currency": tariff.currency,
        "price_is_assumed": !tariff.is_sourced,
        "protocols": tariff::accepted(tariff),
        "charges": if tariff.is_by_bytes() { "bytes" } else { "messages" },
        "rules": tariff.rules.iter().map(|rule| json!({
            "rule": rule.name,
            "row": rule.row,
            "counts": rule.counts.iter().map(|what| what.name()).collect::<Vec<&str>>(),
        })).collect::<Vec<Value>>(),
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
