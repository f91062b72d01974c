//! The settings of servers that wirecost starts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::Target;

/// A setting of a server, which a load may give another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name: that of the server's own configuration, where there is one.
    pub name: &'static str,
    /// The values that it may have.
    pub values: Values,
    /// The value that wirecost gives it; empty where it follows from other settings.
    pub default: &'static str,
}

/// The values of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers.
    Numbers(RangeInclusive<u64>),
    /// Words.
    Words(&'static [&'static str]),
}

impl Values {
    /// Why a value is none of these; `None` if it is.
    pub fn refusal(&self, value: &str) -> Option<String> {
        match self {
            Self::Numbers(range) => {
                let is_inside = value.parse().is_ok_and(|number: u64| range.contains(&number));
                let (least, most) = (range.start(), range.end());
                let expected = match *most {
                    u64::MAX => format!("a whole number from {least} on"),
                    _ => format!("a whole number from {least} to {most}"),
                };
                (!is_inside).then(|| format!("{value:?} is not {expected}"))
            }
            Self::Words(words) => {
                (!words.contains(&value)).then(|| format!("{value:?} is not {}", words.join(" or ")))
            }
        }
    }
}

/// The names of Apache's settings.
pub mod apache {
    /// The most worker processes (`ServerLimit`, `MaxRequestWorkers`). A connection has a worker of its own while it is open.
    pub const WORKERS: &str = "workers";
    /// The workers that wait for connections (`StartServers`, `MinSpareServers`).
    pub const WORKERS_READY: &str = "workers_ready";
    /// The seconds after which an idle connection is closed (`KeepAliveTimeout`).
    pub const KEEP_ALIVE_TIMEOUT: &str = "keep_alive_timeout";
    /// The connections that wait for a worker (`ListenBacklog`).
    pub const LISTEN_BACKLOG: &str = "listen_backlog";
    /// The database into which a request inserts its reading before it is answered.
    pub const STORE: &str = "store";
    /// The most connections of that database (`max_connections`).
    pub const STORE_CONNECTIONS: &str = "store_connections";
    /// The store that is none.
    pub const NO_STORE: &str = "none";
    /// How many workers wait, unless a load says how many.
    pub const READY: u64 = 5;
    /// How many more connections than workers the database takes, unless a load says how many.
    pub const MORE_CONNECTIONS: u64 = 16;
}

const SWITCH: Values = Values::Words(&["on", "off"]);

const fn numbers(name: &'static str, range: RangeInclusive<u64>, default: &'static str) -> Setting {
    setting(name, Values::Numbers(range), default)
}

const fn setting(name: &'static str, values: Values, default: &'static str) -> Setting {
    Setting {
        name,
        values,
        default,
    }
}

/// mosquitto.conf(5): 0 is no limit. In flight are messages of QoS 1 and 2 without their acknowledgement. A slow subscriber
/// shall not lose messages unseen.
const MOSQUITTO: &[Setting] = &[
    numbers("max_inflight_messages", 0..=u64::MAX, "20"),
    numbers("max_queued_messages", 0..=u64::MAX, "0"),
];

/// The workers, those that wait, and the backlog are Apache's own defaults (mpm_common). Connections of a load stay open.
const APACHE: &[Setting] = &[
    numbers(apache::WORKERS, 1..=20_000, "256"),
    // The default is that of `derive`.
    numbers(apache::WORKERS_READY, 1..=20_000, ""),
    numbers(apache::KEEP_ALIVE_TIMEOUT, 1..=86_400, "3600"),
    numbers(apache::LISTEN_BACKLOG, 1..=65_535, "511"),
    setting(
        apache::STORE,
        Values::Words(&[apache::NO_STORE, "mariadb"]),
        apache::NO_STORE,
    ),
    // MariaDB's own limits. The default is that of `derive`.
    numbers(apache::STORE_CONNECTIONS, 10..=100_000, ""),
];

/// PostgreSQL documentation, chapters 20.3 and 20.5: but for the connections, these are its defaults. Every insert is on disk before
/// its answer. No connection is kept for superusers.
const POSTGRESQL: &[Setting] = &[
    setting("fsync", SWITCH, "on"),
    numbers("max_connections", 4..=262_143, "1000"),
    setting("synchronous_commit", SWITCH, "on"),
];

/// But for the connections, this is its default: every insert is on disk before its answer.
const MARIADB: &[Setting] = &[
    numbers("innodb_flush_log_at_trx_commit", 0..=2, "1"),
    numbers("max_connections", 10..=100_000, "1000"),
];

impl Target {
    /// The settings of the target that a load may replace.
    pub const fn settings(self) -> &'static [Setting] {
        match self {
            Self::Mosquitto => MOSQUITTO,
            Self::Apache => APACHE,
            Self::Postgresql => POSTGRESQL,
            Self::Mariadb => MARIADB,
            Self::Builtin
            | Self::Rabbitmq
            | Self::Caddy
            | Self::Libcoap
            | Self::LibcoapGnutls
            | Self::Running => &[],
        }
    }

    /// Every setting that the target runs with: those of `given`, and otherwise those that wirecost gives it.
    pub fn settings_with(self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let value = |setting: &Setting| {
            let own = given.get(setting.name).map_or(setting.default, String::as_str);
            (setting.name.to_owned(), own.to_owned())
        };
        let mut all: BTreeMap<String, String> = self.settings().iter().map(value).collect();
        if matches!(self, Self::Apache) {
            derive(&mut all);
        }
        all
    }

    /// Why a value of a setting is none for this target; `None` if it is one.
    pub fn refuses_setting(self, given: &BTreeMap<String, String>, name: &str) -> Option<String> {
        let known = self.settings();
        let Some(setting) = known.iter().find(|setting| setting.name == name) else {
            return Some(match known {
                [] => format!("{self} has no settings here: leave out {name}"),
                _ => {
                    let names: Vec<&str> = known.iter().map(|setting| setting.name).collect();
                    format!("{self} has no setting {name} here: it has {}", names.join(", "))
                }
            });
        };
        let value = given.get(name)?;
        let wrong = setting.values.refusal(value);
        wrong.or_else(|| self.refuses_together(given, name))
    }

    /// Why a setting does not fit the others.
    fn refuses_together(self, given: &BTreeMap<String, String>, name: &str) -> Option<String> {
        if !matches!(self, Self::Apache) {
            return None;
        }
        let all = self.settings_with(given);
        let number = |name: &str| all.get(name).and_then(|value| value.parse::<u64>().ok());
        match name {
            apache::WORKERS_READY => {
                let (ready, workers) = number(name).zip(number(apache::WORKERS))?;
                let why = || format!("{ready} are more than there are workers, {workers}");
                (ready > workers).then(why)
            }
            apache::STORE_CONNECTIONS
                if all
                    .get(apache::STORE)
                    .is_some_and(|store| store == apache::NO_STORE) =>
            {
                Some("there is no store: add store: mariadb, or leave it out".to_owned())
            }
            _ => None,
        }
    }
}

/// What follows from Apache's other settings: no more workers wait than there are, and its database takes a connection of each worker.
fn derive(all: &mut BTreeMap<String, String>) {
    let number = |name: &str| all.get(name).and_then(|value| value.parse::<u64>().ok());
    let workers = number(apache::WORKERS).unwrap_or_default();
    let ready = number(apache::WORKERS_READY).unwrap_or_else(|| workers.min(apache::READY));
    let connections = number(apache::STORE_CONNECTIONS).unwrap_or(workers + apache::MORE_CONNECTIONS);
    all.insert(apache::WORKERS_READY.to_owned(), ready.to_string());
    if all
        .get(apache::STORE)
        .is_some_and(|store| store == apache::NO_STORE)
    {
        all.remove(apache::STORE_CONNECTIONS);
    } else {
        all.insert(apache::STORE_CONNECTIONS.to_owned(), connections.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn every_default_is_a_value_of_its_setting() {
        for (_, target) in Target::ALL {
            let all = target.settings_with(&BTreeMap::new());
            for name in all.keys() {
                assert_eq!(target.refuses_setting(&all, name), None, "{target}");
            }
        }
    }

    #[test]
    fn what_a_load_does_not_say_follows_from_what_it_says() {
        let few = Target::Apache.settings_with(&collect(&[("workers", "2"), ("store", "mariadb")]));
        assert_eq!(
            (few["workers_ready"].as_str(), few["store_connections"].as_str()),
            ("2", "18")
        );
        let none = Target::Apache.settings_with(&BTreeMap::new());
        assert_eq!(none["workers_ready"], "5");
        assert!(!none.contains_key("store_connections"));
    }

    #[test]
    fn a_value_that_is_none_is_refused_with_those_that_are() {
        let refused = |target: Target, pairs: &[(&str, &str)]| {
            let given = collect(pairs);
            given
                .keys()
                .find_map(|name| target.refuses_setting(&given, name))
                .unwrap_or_default()
        };
        for (target, pairs, why) in [
            (
                Target::Apache,
                &[("workers", "0")][..],
                "\"0\" is not a whole number from 1 to 20000",
            ),
            (
                Target::Apache,
                &[("store", "mysql")][..],
                "\"mysql\" is not none or mariadb",
            ),
            (
                Target::Apache,
                &[("workers", "8"), ("workers_ready", "9")][..],
                "9 are more than there are workers, 8",
            ),
            (
                Target::Apache,
                &[("store_connections", "10")][..],
                "there is no store: add store: mariadb, or leave it out",
            ),
            (
                Target::Caddy,
                &[("x", "1")][..],
                "caddy has no settings here: leave out x",
            ),
            (
                Target::Mosquitto,
                &[("x", "1")][..],
                "mosquitto has no setting x here: it has max_inflight_messages, max_queued_messages",
            ),
        ] {
            assert_eq!(refused(target, pairs), why);
        }
    }
}
