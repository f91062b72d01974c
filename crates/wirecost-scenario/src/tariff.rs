//! Tariff files: what a data plan or a broker charges, rule by rule, each with the heading and row of its page and the source of every
//! figure; and the worked examples of that page.

mod example;
mod rule;
pub mod shape;

use wirecost_account::{Terms, Traffic};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::{Period, Protocol, Taken, TariffRule};
use wirecost_results::value::ValueError;
use wirecost_stack::{Application, Stack};

use crate::catalog::{Catalog, built_in};
use crate::electric;
use crate::error::ScenarioError;
use crate::figure::{Figures, versioned};
use crate::key::names;
use crate::node::Node;
use crate::table::{Table, flag, parsed, text};

pub use example::{Example, ExpectedFigure};
use rule::Kilobyte;

/// The tariff files that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 13] = built_in!(
    "tariffs",
    "1nce",
    "aws-iot-core",
    "azure-iot-hub",
    "clearblade",
    "emnify",
    "emqx-cloud",
    "hivemq-cloud",
    "hologram",
    "per-mb",
    "per-session",
    "satellite",
    "soracom",
    "soracom-plan01s",
);

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "tariff",
    files: &BUILT_IN,
    absent: &[],
};

/// Reads a tariff file. `name` is the tariff's name in output.
///
/// # Errors
/// It is not a tariff file; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Tariff, ScenarioError> {
    Ok(read_with_examples(name, file)?.0)
}

/// Reads a tariff file and the worked examples in it.
///
/// # Errors
/// As of [`read`].
pub fn read_with_examples(name: &str, file: &str) -> Result<(Tariff, Vec<Example>), ScenarioError> {
    let file = Node::parse(file)?;
    let table = versioned(&file, "tariff", "wirecost_tariff", &names(shape::FILE))?;
    let figures = Figures::new(&file)?;
    let said = figures.one(&table, ("", "kilobyte"), text)?;
    // SI prefixes are the rule; a page that means 1,024 has to be quoted for it.
    let said = said.map_or_else(|| "1000".to_owned(), |said| said.value);
    let kilobytes = Kilobyte::read(&said).ok_or_else(|| {
        table
            .error("kilobyte", format!("{said:?} is not a kilobyte"))
            .with_hint("write 1000, 1024, or unknown where the page does not say which: then both results are printed")
    })?;
    let tariff = with_kilobyte(name, &table, &figures, kilobytes[0])?;
    let other = kilobytes.get(1);
    let other = other
        .map(|other| with_kilobyte(name, &table, &figures, *other))
        .transpose()?;
    let examples = example::all(&table, &tariff, kilobytes[0])?;
    // Where no size of the file is in kilobytes, both are the same.
    let other_kilobyte = other.filter(|other| *other != tariff).map(Box::new);
    Ok((
        Tariff {
            other_kilobyte,
            ..tariff
        },
        examples,
    ))
}

fn with_kilobyte(
    name: &str,
    table: &Table<'_>,
    figures: &Figures,
    kilobyte: Kilobyte,
) -> Result<Tariff, ScenarioError> {
    let takes = figures.one(table, ("", "protocols"), taken)?;
    let rules = rule::all(table, figures, kilobyte)?;
    let money_step = money(table, figures, &rules.currency)?;
    no_overlap(table, &rules.rules)?;
    Ok(Tariff {
        name: name.to_owned(),
        title: table.required("title", text)?,
        is_uncompressed: table.one("uncompressed", flag)?.unwrap_or(false),
        rules: rules.rules.into_iter().map(|(rule, _)| rule).collect(),
        currency: rules.currency,
        is_sourced: rules.is_sourced,
        money_step,
        takes: takes.map(|takes| takes.value).unwrap_or_default(),
        other_kilobyte: None,
    })
}

/// What money is rounded up to, and when.
fn money(
    table: &Table<'_>,
    figures: &Figures,
    currency: &str,
) -> Result<Option<(f64, Period)>, ScenarioError> {
    let Some(node) = table.get("money") else {
        return Ok(None);
    };
    let inner = Table::new(node, "money.", &names(shape::MONEY))?;
    let step = figures.required(&inner, ("money.", "round"), electric::price)?;
    let (step, own) = step.value;
    // A step of 0 would divide by zero, and one in another currency rounds nothing.
    if own != currency || step <= 0.0 {
        let message = format!("it is no step above 0 in {currency}");
        return Err(inner
            .error("round", message)
            .with_hint(format!("write 0.01 {currency}")));
    }
    let each = inner.required("each", parsed)?;
    if !matches!(each, Period::Day | Period::Month) {
        return Err(inner.error("each", "money is rounded each day or each month"));
    }
    Ok(Some((step, each)))
}

/// Refuses rules that count the same, where the second does not say so.
fn no_overlap(table: &Table<'_>, rules: &[(TariffRule, bool)]) -> Result<(), ScenarioError> {
    for (index, (rule, is_again)) in rules.iter().enumerate() {
        // The later rule says that it counts again, because a reader comes to it second.
        let earlier = rules[..index].iter().filter(|_| !is_again);
        for (other, _) in earlier {
            let both = rule.counts.iter().find(|what| other.counts.contains(what));
            // Fees add up: a fee for the device and one for the account are two prices.
            let Some(both) = both.filter(|what| **what != wirecost_cost::What::Fee) else {
                continue;
            };
            let place = table.get("rules").and_then(|rules| rules.get(&rule.name));
            let place = place
                .and_then(|rule| rule.get("counts"))
                .map(|node| node.place.clone());
            let message = format!(
                "rules.{}.counts: {} is counted by the rule {} already",
                rule.name,
                both.name(),
                other.name
            );
            return Err(ScenarioError::new(&place.unwrap_or_default(), message).with_hint(
                "leave it out of one of them, or write again: true where the page counts it twice",
            ));
        }
    }
    Ok(())
}

/// The name of a tariff file that is part of the program.
///
/// # Errors
/// There is no such file.
pub fn known(name: &str) -> Result<&'static str, ValueError> {
    let found = CATALOG.find(name).ok().flatten();
    found.map(|(known, _)| known).ok_or_else(|| {
        let names = BUILT_IN.map(|(known, _)| known).join(", ");
        ValueError::Refused(format!("{name:?} is not a tariff: {names}"))
    })
}

/// The tariff of a name that is part of the program.
pub fn built_in(name: &str) -> Option<Tariff> {
    let (name, text) = CATALOG.find(name).ok().flatten()?;
    read(name, text).ok()
}

/// The figures of some traffic, without a bill where the tariff's service does not take the stack.
pub fn figures(terms: &Terms<'_>, traffic: &Traffic) -> wirecost_account::Figures {
    let priced = terms.figures(traffic);
    let stack: Option<Stack> = traffic.stack.as_ref().and_then(|stack| stack.parse().ok());
    let refusal = terms
        .tariff
        .zip(stack)
        .and_then(|(tariff, stack)| refusal(tariff, stack));
    wirecost_account::Figures {
        bill: priced.bill.filter(|_| refusal.is_none()),
        refusal,
        ..priced
    }
}

/// Why a service does not take the messages of a stack; `None` if it does.
pub fn refusal(tariff: &Tariff, stack: Stack) -> Option<String> {
    // HTTP/3 has TLS in QUIC.
    let over_tls = stack.channel.is_tls() || stack.application == Application::Http3;
    let takes = tariff.takes(protocol(stack.application), over_tls);
    (!takes).then(|| format!("{} takes {}, not {stack}", tariff.name, accepted(tariff)))
}

/// The protocols that a service takes, in words.
pub fn accepted(tariff: &Tariff) -> String {
    let word = |taken: &Taken| {
        let tls = if taken.over_tls { "+tls" } else { "" };
        format!("{}{tls}", taken.protocol.name())
    };
    let words: Vec<String> = tariff.takes.iter().map(word).collect();
    words.join(" and ")
}

const fn protocol(application: Application) -> Option<Protocol> {
    match application {
        Application::Mqtt311(_) | Application::Mqtt5(_) => Some(Protocol::Mqtt),
        Application::MqttSn(_) => Some(Protocol::MqttSn),
        Application::CoapNon | Application::CoapCon | Application::CoapTcp => Some(Protocol::Coap),
        Application::AmqpSettled | Application::AmqpUnsettled => Some(Protocol::Amqp),
        Application::Http1 => Some(Protocol::Http1),
        Application::Http3 => Some(Protocol::Http3),
        Application::Tcp | Application::Udp | Application::Store(_) => None,
    }
}

/// Reads the protocols of a service: `mqtt+tls, http1+tls`.
fn taken(text: &str) -> Result<Vec<Taken>, ValueError> {
    let one = |word: &str| {
        let (name, over_tls) = match word.strip_suffix("+tls") {
            Some(name) => (name, true),
            None => (word, false),
        };
        let found = Protocol::by_name(name);
        found.map(|protocol| Taken { protocol, over_tls }).ok_or_else(|| {
            ValueError::form(
                word,
                "a protocol: mqtt, mqttsn, coap, amqp, http1, http3, or one with +tls",
            )
        })
    };
    text.split(',').map(|word| one(word.trim())).collect()
}

#[cfg(test)]
mod tests {
    use wirecost_cost::tariff::{Price, Rounding};

    use super::*;

    fn built_in(name: &str) -> (Tariff, Vec<Example>) {
        let (_, file) = CATALOG.find(name).expect("known").expect("a file");
        read_with_examples(name, file).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn every_built_in_tariff_is_read_and_cites_its_page() {
        for (name, file) in BUILT_IN {
            let (tariff, _) = built_in(name);
            assert!(tariff.currency.len() == 3, "{name}");
            let has_page = file.contains("sources:");
            assert!(
                tariff.rules.iter().all(|rule| rule.row.is_empty() != has_page),
                "{name}"
            );
        }
    }

    #[test]
    fn the_worked_examples_of_the_pages_come_out_exactly() {
        let mut rows = 0;
        for (name, _) in BUILT_IN {
            let (tariff, examples) = built_in(name);
            for example in examples {
                let bill = example.bill(&tariff);
                for expected in &example.expected {
                    let computed = expected.computed(&bill);
                    assert!(
                        expected.agrees(computed),
                        "{name}: {}: {:?} {}, computed {computed}",
                        example.row,
                        expected.rule,
                        expected.written
                    );
                    // Neither one more nor one less is taken for it.
                    assert!(
                        !expected.agrees(computed * 1.001 + 0.01),
                        "{name}: {}",
                        example.row
                    );
                    rows += 1;
                }
            }
        }
        assert!(rows >= 33, "{rows}");
    }

    #[test]
    fn both_kilobytes_are_there_where_a_page_does_not_say() {
        let (tariff, _) = built_in("aws-iot-core");
        let other = tariff.other_kilobyte.as_ref().expect("both");
        let unit = |tariff: &Tariff| tariff.rules[1].rounding;
        assert_eq!(
            (unit(&tariff), unit(other)),
            (Rounding::Units(5_000), Rounding::Units(5_120))
        );
        assert_eq!(built_in("clearblade").0.other_kilobyte, None);
        // The megabyte of the bundle has as many kilobytes.
        let (tariff, _) = built_in("1nce");
        let size = |tariff: &Tariff| match tariff.rules[0].price {
            Price::Bundle { size, .. } => size,
            Price::Tiers { .. } | Price::Daily { .. } => 0.0,
        };
        let other = tariff.other_kilobyte.as_ref().expect("both");
        assert_eq!((size(&tariff), size(other)), (500e6, 500.0 * 1_048_576.0));
    }

    const OWN: &str = "wirecost_tariff: 1\ntitle: mine\nrules:\n  data:\n    counts: packets\n    price: 10 EUR\n    per: 500MB\n";

    #[test]
    fn a_figure_without_a_source_is_assumed() {
        let tariff = read("mine", OWN).expect("a tariff");
        assert!(!tariff.is_sourced && tariff.currency == "EUR" && tariff.other_kilobyte.is_none());
        let more = "  sim: {counts: fee, price: 0.50 EUR}\nprotocols: mqtt+tls, coap\n";
        let tariff = read("mine", &format!("{OWN}{more}")).expect("a tariff");
        assert_eq!(tariff.rules.len(), 2);
        assert_eq!(accepted(&tariff), "mqtt+tls and coap");
    }

    #[test]
    fn a_wrong_tariff_file_is_refused_with_its_line() {
        for (lines, message, line) in [
            ("protocols: mqtt+dtls", "a protocol: mqtt, mqttsn", 8),
            ("kilobyte: 1023", "kilobyte: \"1023\" is not a kilobyte", 8),
            ("bytes: {}", "unknown key \"bytes\"", 8),
            (
                "  sim: {counts: fee, price: 1 USD}",
                "it is in USD, and the price before it in EUR",
                8,
            ),
            ("  sim: {counts: fee, price: 1}", "a price with its currency", 8),
            (
                "  more: {counts: packets, price: 1 EUR}",
                "packets is counted by the rule data already",
                8,
            ),
            (
                "  more: {counts: [packets, publish], price: 1 EUR}",
                "by a rule of their own",
                8,
            ),
            (
                "  more: {counts: bytes, price: 1 EUR}",
                "expected one of packets, publish",
                8,
            ),
            ("  more: {price: 1 EUR}", "a rule counts something", 8),
            ("    bundle: 500", "a size: write 5KB", 8),
            (
                "    unit: 5KB",
                "it has no effect on a rule that counts packets",
                8,
            ),
            ("    each: year", "expected one of session, direction", 8),
            ("    round: 5 furlongs", "a size: write 5KB", 8),
            (
                "    free: 1MB\n    a_day: 1MB",
                "it is about a rule with one price",
                8,
            ),
            (
                "    a_day: 1MB\n    bundle: 1MB",
                "a rule has one kind of price",
                9,
            ),
            (
                "    bundle: 1MB\n    valid: 0y",
                "a time above 0: write 10y or 90d",
                9,
            ),
            (
                "    tiers: [{to: 2MB, price: 1 EUR}, {to: 1MB, price: 1 EUR}]",
                "not above the tier before it",
                8,
            ),
            ("    tiers: [{to: 2MB, price: 1 EUR}]", "has no upper limit", 8),
            (
                "    tiers: [{price: 1 EUR}, {to: 1MB, price: 1 EUR}]",
                "has no upper limit",
                8,
            ),
            ("money: {round: 0.01 USD, each: day}", "no step above 0 in EUR", 8),
            (
                "money: {round: 0.01 EUR, each: session}",
                "each day or each month",
                8,
            ),
            (
                "examples: [{row: mine, day: {publish: 3}, lines: {data: 3B}}]",
                "write 300 x 1KB",
                8,
            ),
            (
                "examples: [{row: mine, day: {}, lines: {date: 3B}}]",
                "the file has no such rule",
                8,
            ),
            (
                "examples: [{row: mine, day: {}}]",
                "an example says lines or money",
                8,
            ),
        ] {
            let error = read("mine", &format!("{OWN}{lines}\n")).expect_err(lines);
            assert!(error.message().contains(message), "{lines}: {error}");
            assert_eq!(error.line(), Some(line), "{lines}: {error}");
        }
        // A page that counts a message twice says so.
        let twice = "  messages: {counts: publish, price: 1 EUR}\n  again: {counts: publish, again: true, price: 1 EUR}\n";
        assert_eq!(
            read("mine", &format!("{OWN}{twice}"))
                .expect("a tariff")
                .rules
                .len(),
            3
        );
    }

    #[test]
    fn aws_iot_core_takes_mqtt_and_http_over_tls_alone() {
        let (_, file) = CATALOG.find("aws-iot-core").expect("known").expect("a file");
        let tariff = read("aws", file).expect("a tariff");
        for taken in ["mqtt-qos1+tls1.3", "mqtt5-qos0+tls1.2", "http1+tls1.3"] {
            assert_eq!(refusal(&tariff, taken.parse().expect(taken)), None, "{taken}");
        }
        for refused in [
            "coap-con+oscore",
            "coap-tcp+tls1.3",
            "http3",
            "mqtt-qos1",
            "tcp",
            "mqttsn-qos1",
        ] {
            let said = refusal(&tariff, refused.parse().expect(refused));
            let expected = format!("aws takes mqtt+tls and http1+tls, not {refused}");
            assert_eq!(said, Some(expected));
        }
    }
}
