//! Writes a load as text that reads back as the same load: the serde functions for the fields of [`LoadOptions`].

use std::fmt::Display;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_proto::units::DisplayDuration;
use wirecost_results::resolved::Tree;
use wirecost_stack::secret::PASSWORD_VARIABLE;

use crate::options::load::{BatchBytes, LoadOptions, LoadTarget};
use crate::options::row::{self, Row};
use crate::table::message_rate_text;

/// A load in its resolved form: in results folders, and for worker processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved<'a> {
    load: &'a LoadOptions,
    secrets: Secrets,
}

/// Whether passwords are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// For a worker process, by a pipe. The file of credentials goes beside the load: it is larger than a scenario may be.
    Shown,
    /// For a file, which names the environment variable of the password instead.
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Login<'a> {
    user: &'a str,
    password: Password<'a>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Password<'a> {
    Plain(&'a str),
    Variable { env: &'static str },
}

impl LoadOptions {
    /// The user of all devices, its own or that of the target.
    pub(super) fn login_as(&self, secrets: Secrets) -> Option<Tree> {
        let of_url = match &self.target {
            LoadTarget::Url(url) => url.login.as_ref().map(|login| (&login.user, &login.password)),
            LoadTarget::Started(_) => None,
        };
        let own = self.login.as_ref().map(|(user, password)| (user, password));
        let (user, password) = own.or(of_url)?;
        let password = match secrets {
            Secrets::Shown => Password::Plain(password),
            // A resolved scenario lies in the results folder, which is passed on; from the variable it can be run again.
            Secrets::Hidden => Password::Variable {
                env: PASSWORD_VARIABLE,
            },
        };
        Some(Tree::from_value(&Login { user, password }))
    }
}

impl<'a> Resolved<'a> {
    /// The load, quantities with units.
    pub const fn new(load: &'a LoadOptions, secrets: Secrets) -> Self {
        Self { load, secrets }
    }

    /// The load as JSON in one line, which [`crate::load::parse`] reads.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists: there is nothing that JSON cannot hold.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Resolved<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { load, secrets } = self;
        row::serialize_as(to, |row: &Row<LoadOptions>| match (row.key, secrets) {
            ("login", _) => load.login_as(*secrets),
            ("credentials", Secrets::Shown) => None,
            (_, Secrets::Shown | Secrets::Hidden) => row.resolved(load),
        })
    }
}

pub(crate) fn text<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

pub(crate) fn optional_text<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(ToString::to_string).serialize(to)
}

pub(crate) fn time<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&DisplayDuration(*duration))
}

pub(crate) fn optional_time<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    optional_text(&duration.map(DisplayDuration), to)
}

pub(crate) fn rate<S: Serializer>(per_second: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&message_rate_text(*per_second))
}

pub(crate) fn optional_rate<S: Serializer>(per_second: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    per_second.map(message_rate_text).serialize(to)
}

pub(crate) fn hex<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    to.serialize_str(&digits.collect::<String>())
}

pub(crate) fn batch<S: Serializer>(readings: &BatchBytes, to: S) -> Result<S::Ok, S::Error> {
    let batch = readings.batch;
    let mut map = to.serialize_map(Some(3))?;
    map.serialize_entry("count", &batch.readings)?;
    map.serialize_entry("encoding", batch.encoding.name())?;
    map.serialize_entry("compression", batch.compression.name())?;
    map.end()
}

pub(crate) fn arrivals<S: Serializer>(is_poisson: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_poisson { "poisson" } else { "constant" })
}

pub(crate) fn closed_loop<S: Serializer>(to: S) -> Result<S::Ok, S::Error> {
    one("closed_loop", true, to)
}

pub(crate) fn jitter<S: Serializer>(is_full: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_full { "full" } else { "none" })
}

fn one<S: Serializer>(key: &str, value: bool, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(key, &value)?;
    map.end()
}
