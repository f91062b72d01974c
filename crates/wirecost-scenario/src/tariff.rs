//! Tariff files: what a data plan or a broker charges, each figure with its source.

use wirecost_cost::tariff::{Charge, Period, Protocol, Taken, Tariff};
use wirecost_proto::ByteSize;
use wirecost_results::value::ValueError;
use wirecost_stack::{Application, Stack};

use crate::catalog::Catalog;
use crate::electric;
use crate::error::ScenarioError;
use crate::figure::{Figure, Figures, versioned};
use crate::node::Node;
use crate::table::{Table, flag, parsed, text, time, whole};

/// The tariff files that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("1nce", include_str!("../../../tariffs/1nce.yaml")),
    ("aws-iot-core", include_str!("../../../tariffs/aws-iot-core.yaml")),
    ("per-mb", include_str!("../../../tariffs/per-mb.yaml")),
    ("per-session", include_str!("../../../tariffs/per-session.yaml")),
    ("soracom", include_str!("../../../tariffs/soracom.yaml")),
];

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "tariff",
    files: &BUILT_IN,
    absent: &[],
};

const KEYS: [&str; 7] = [
    "wirecost_tariff",
    "title",
    "sources",
    "protocols",
    "base_fee",
    "bytes",
    "messages",
];

/// Reads a tariff file. `name` is the tariff's name in output.
///
/// # Errors
/// It is not a tariff file; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Tariff, ScenarioError> {
    let file = Node::parse(file)?;
    let table = versioned(&file, "tariff", "wirecost_tariff", &KEYS)?;
    let figures = Figures::new(&file)?;
    let (charge, price, valid) = match (table.get("bytes"), table.get("messages")) {
        (Some(node), None) => bytes(node, &figures)?,
        (None, Some(node)) => messages(node, &figures)?,
        _ => {
            return Err(table
                .error("bytes", "a tariff charges either bytes or messages")
                .with_hint("give exactly one of the tables bytes and messages"));
        }
    };
    let takes = figures.one(&table, ("", "protocols"), taken)?;
    let fee = figures.one(&table, ("", "base_fee"), electric::price)?;
    let (fee, currency) = fee.map_or((0.0, None), |fee| (fee.value.0, Some(fee.value.1)));
    if let Some(other) = currency.filter(|currency| *currency != price.value.1) {
        let message = format!("it is in {other}, and the price in {}", price.value.1);
        return Err(table
            .error("base_fee", message)
            .with_hint("write both in one currency"));
    }
    Ok(Tariff {
        name: name.to_owned(),
        title: table.required("title", text)?,
        charge,
        price: price.value.0,
        currency: price.value.1,
        is_sourced: price.is_sourced,
        base_fee: fee,
        valid_seconds: valid,
        takes: takes.map(|takes| takes.value).unwrap_or_default(),
    })
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
        let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.map(|protocol| Taken { protocol, over_tls }).ok_or_else(|| {
            ValueError::form(
                word,
                "a protocol: mqtt, mqttsn, coap, amqp, http1, http3, or one with +tls",
            )
        })
    };
    text.split(',').map(|word| one(word.trim())).collect()
}

/// Reads how long a bundle is valid, in seconds: `10y`, `90d`. A year has 365 days.
fn validity(text: &str) -> Result<f64, ValueError> {
    let years = text
        .strip_suffix('y')
        .and_then(|years| years.trim().parse::<f64>().ok());
    let seconds = match years {
        Some(years) => years * 365.0 * 86_400.0,
        None => time(text)?.as_secs_f64(),
    };
    Some(seconds)
        .filter(|seconds| *seconds > 0.0 && seconds.is_finite())
        .ok_or_else(|| ValueError::form(text, "a time above 0: write 10y or 90d"))
}

type Priced = (Charge, Figure<(f64, String)>, Option<f64>);

fn bytes(node: &Node, figures: &Figures) -> Result<Priced, ScenarioError> {
    const PREFIX: &str = "bytes.";
    let keys = [
        "tunnel",
        "tunnel_down",
        "round",
        "period",
        "included",
        "price",
        "per",
        "valid",
    ];
    let table = Table::new(node, PREFIX, &keys)?;
    let size = |key| -> Result<Option<u64>, ScenarioError> {
        let figure = figures.one(&table, (PREFIX, key), parsed::<ByteSize>)?;
        Ok(figure.map(|figure| figure.value.bytes()))
    };
    let tunnel = size("tunnel")?.unwrap_or(0);
    let unit = figures.required(&table, (PREFIX, "round"), parsed::<ByteSize>)?;
    let charge = Charge::Bytes {
        tunnel_bytes: [tunnel, size("tunnel_down")?.unwrap_or(tunnel)],
        unit_bytes: unit.value.bytes().max(1),
        period: table.required("period", period)?,
        price_bytes: table.required("per", parsed::<ByteSize>)?.bytes().max(1),
        included_bytes: size("included")?.unwrap_or(0),
    };
    priced(charge, &table, PREFIX, figures)
}

/// The charge with its price, and for how long that is.
fn priced(
    charge: Charge,
    table: &Table<'_>,
    prefix: &str,
    figures: &Figures,
) -> Result<Priced, ScenarioError> {
    let valid = figures.one(table, (prefix, "valid"), validity)?;
    let price = figures.required(table, (prefix, "price"), electric::price)?;
    Ok((charge, price, valid.map(|valid| valid.value)))
}

fn messages(node: &Node, figures: &Figures) -> Result<Priced, ScenarioError> {
    const PREFIX: &str = "messages.";
    let keys = ["unit", "keep_alives", "sessions", "price", "per", "valid"];
    let table = Table::new(node, PREFIX, &keys)?;
    let unit = figures.required(&table, (PREFIX, "unit"), parsed::<ByteSize>)?;
    let charge = Charge::Messages {
        unit_bytes: unit.value.bytes().max(1),
        keep_alives: figures.required(&table, (PREFIX, "keep_alives"), flag)?.value,
        sessions: figures.required(&table, (PREFIX, "sessions"), flag)?.value,
        price_messages: table.required("per", whole::<u64>)?.max(1),
    };
    priced(charge, &table, PREFIX, figures)
}

fn period(text: &str) -> Result<Period, ValueError> {
    let all = [Period::Session, Period::Day, Period::Month];
    let found = all.into_iter().find(|period| period.name() == text);
    found.ok_or_else(|| ValueError::form(text, "a period: session, day or month"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_tariff_is_read() {
        for (name, file) in BUILT_IN {
            let tariff = read(name, file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(tariff.price > 0.0 && tariff.currency.len() == 3, "{name}");
        }
    }

    const OWN: &str = "wirecost_tariff: 1\ntitle: mine\nbytes:\n  round: 1B\n  period: month\n  price: 10 EUR\n  per: 500MB\n";

    #[test]
    fn a_figure_without_a_source_is_assumed() {
        let tariff = read("mine", OWN).expect("a tariff");
        assert!(!tariff.is_sourced && tariff.price == 10.0 && tariff.base_fee == 0.0);
        let more = "base_fee: 0.50 EUR\nprotocols: mqtt+tls, coap\n";
        let tariff = read("mine", &format!("{OWN}  valid: 10y\n{more}")).expect("a tariff");
        assert_eq!(tariff.base_fee, 0.5);
        assert_eq!(tariff.valid_seconds, Some(3_650.0 * 86_400.0));
        assert_eq!(accepted(&tariff), "mqtt+tls and coap");
        for (line, message) in [
            ("base_fee: 1 USD", "base_fee: it is in USD, and the price in EUR"),
            ("protocols: mqtt+dtls", "a protocol: mqtt, mqttsn"),
            ("  valid: 0y", "a time above 0: write 10y or 90d"),
            ("  valid: 10", "\"10\" has no unit"),
        ] {
            let error = read("mine", &format!("{OWN}{line}\n")).expect_err(line);
            assert!(error.message().contains(message), "{line}: {error}");
        }
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

    #[test]
    fn a_wrong_tariff_file_is_refused_with_its_line() {
        let (name, file) = BUILT_IN[2];
        for (from, to, message, line) in [
            ("0.40 EUR", "0.40", "a price with its currency", 8),
            ("per: 1MB", "per: 1", "has no unit", 9),
            ("value: 1B", "value: 1", "has no unit", 6),
            ("period: month", "period: year", "a period: session", 7),
            ("bytes:", "octets:", "unknown key \"octets\"", 4),
        ] {
            assert!(file.contains(from), "{from}");
            let error = read(name, &file.replacen(from, to, 1)).expect_err("an error");
            assert!(error.message().contains(message), "{to}: {error}");
            assert_eq!(error.line(), Some(line), "{to}: {error}");
        }
    }
}
