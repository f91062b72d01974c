//! A bill in words and as JSON: what it is for, what its rules charge, its next cheaper step, and both results where a page does not
//! say how large its kilobyte is.

use serde_json::{Value, json};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::{Bill, CheaperStep, Price, RuleCharge, TariffRule};
use wirecost_proto::calendar::{MONTH_SECONDS, YEAR_SECONDS};
use wirecost_proto::shown::{amount, money, number};

/// Money by what it is for, the largest part first: `keep-alives 61 %, messages 30 %`.
pub fn causes(bill: &Bill) -> String {
    let parts = bill.causes.iter().map(|(what, part)| {
        let percent = part / bill.amount.max(f64::MIN_POSITIVE) * 100.0;
        format!("{} {percent:.0} %", what.words())
    });
    let parts: Vec<String> = parts.filter(|part| !part.ends_with(" 0 %")).collect();
    match parts.is_empty() {
        true => "nothing to pay".to_owned(),
        false => parts.join(", "),
    }
}

/// The same with the next cheaper step of one device, and with the other kilobyte.
pub fn words(tariff: &Tariff, bill: &Bill) -> String {
    let mut parts = vec![causes(bill)];
    parts.extend(bill.next.as_ref().map(|next| step(tariff, next)));
    parts.extend(tariff.rules.iter().zip(&bill.lines).filter_map(bundle_end));
    parts.extend(other_kilobyte(tariff, bill));
    parts.join("; ")
}

/// When a bundle ends, for one device in a month.
fn bundle_end((rule, charge): (&TariffRule, &RuleCharge)) -> Option<String> {
    let Price::Bundle {
        size, valid_seconds, ..
    } = rule.price
    else {
        return None;
    };
    let seconds = size / charge.quantity * MONTH_SECONDS;
    let years = |seconds: f64| match number(seconds / YEAR_SECONDS) {
        one if one == "1" => "1 year".to_owned(),
        more => format!("{more} years"),
    };
    Some(match seconds < valid_seconds {
        true => format!("a bundle is used up after {}", years(seconds)),
        false => format!(
            "a bundle ends by its time, after {}, with {:.0} % of it used",
            years(valid_seconds),
            valid_seconds / seconds * 100.0
        ),
    })
}

fn step(tariff: &Tariff, next: &CheaperStep) -> String {
    let rule = tariff.rules.iter().find(|rule| rule.name == next.rule);
    let what = match (next.in_message, rule.is_some_and(TariffRule::is_by_bytes)) {
        (true, _) => "B of each large message",
        (false, true) => "B a month",
        (false, false) => "a month",
    };
    format!(
        "the next cheaper step: {} {what} less of {} ({:.2} %) save {} a month",
        number(next.less),
        next.rule,
        next.part * 100.0,
        money(&tariff.currency, next.saves)
    )
}

/// Both results, where they differ in what is shown.
pub fn other_kilobyte(tariff: &Tariff, bill: &Bill) -> Option<String> {
    let other = bill
        .other_amount
        .filter(|other| amount(*other) != amount(bill.amount))?;
    Some(format!(
        "{} where a KB has 1,000 B, {} where it has 1,024 B: the page does not say",
        money(&tariff.currency, bill.amount),
        money(&tariff.currency, other)
    ))
}

/// A bill as JSON.
pub fn json(bill: &Bill) -> Value {
    let causes = bill.causes.iter();
    let causes = causes.map(|(what, amount)| (what.name().to_owned(), json!(amount)));
    json!({
        "counted_bytes": bill.counted_bytes, "charged_bytes": bill.charged_bytes,
        "charged_messages": bill.charged_messages, "amount": bill.amount,
        "amount_with_kilobytes_of_1024": bill.other_amount,
        "lines": bill.lines.iter().map(|line| json!({
            "rule": line.rule, "quantity": line.quantity, "amount": line.amount,
        })).collect::<Vec<Value>>(),
        "by_cause": serde_json::Map::from_iter(causes),
    })
}

/// The next cheaper step of one device in a month as JSON.
pub fn step_json(next: &CheaperStep) -> Value {
    json!({
        "rule": next.rule, "less": next.less, "part": next.part, "of_each_message": next.in_message, "saves_a_month": next.saves,
    })
}
