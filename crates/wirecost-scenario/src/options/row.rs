//! One row per option: its key in files, its flag, what it takes, its default and its help.
//!
//! From the rows of a command come the fields and defaults of its options, the keys of a scenario and how they are read, the resolved
//! file, the key of a cell, the flags with their help, the properties of the JSON Schema and the table of docs/scenarios.md.
//! `options!` declares them. A value that depends on others (links, contents, schedules) is a field
//! that is read by hand; its keys are rows that are only written.

mod form;

pub(crate) use form::forms;
pub use form::{Form, FormOf, Named, Names, Parsed, Scaled, Seconds, SharedRow, Value};

use serde::Serializer;
use serde::ser::SerializeMap;
use wirecost_results::resolved::Tree;
use wirecost_results::value::ValueError;

use crate::error::{Place, ScenarioError};
use crate::key::{CLIENTS, Holds, SIZE, TIME};
use crate::table::{self, Table};

/// One option of the options `O`.
#[derive(Debug)]
pub struct Row<O> {
    /// Its key in scenarios and in resolved files.
    pub key: &'static str,
    /// What it is for, as the help, the schema and the documentation say it.
    doc: &'static str,
    /// What else is known of it.
    pub spec: Spec,
    /// What it takes; `None` if it is read together with others.
    pub kind: Option<Kind>,
    /// What one value of its key holds in files.
    pub holds: Holds,
    /// Reads its value from text; `None` if it is read together with others.
    pub read: Option<ReadRow<O>>,
    /// Its value, whether or not it is the default; `None` if there is none.
    pub value: fn(&O) -> Option<Tree>,
}

/// Sets an option to the value of a text.
pub type ReadRow<O> = fn(&str, &mut O) -> Result<(), ValueError>;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; on the command line, there or not.
    Flag,
    /// A whole number from 0 on.
    Number,
    /// A whole number from 1 on.
    Count,
    /// The same, which may have a factor: `50k`.
    Scaled,
    /// A time with its unit.
    Time,
    /// A number of bytes with its unit.
    Size,
    /// Any text.
    Text,
    /// The name of a file.
    File,
    /// One of these names.
    Name(&'static [&'static str]),
}

impl Kind {
    /// What its key holds in files.
    pub const fn holds(self) -> Holds {
        match self {
            Self::Flag => Holds::Flag,
            Self::Number => Holds::Whole(0, u64::MAX),
            Self::Count => Holds::Whole(1, u64::MAX),
            Self::Scaled => Holds::Of(&CLIENTS),
            Self::Time => Holds::Of(&TIME),
            Self::Size => Holds::Of(&SIZE),
            Self::Text | Self::File => Holds::Text,
            Self::Name(names) => Holds::Word(names),
        }
    }

    /// The word that the help shows for the value.
    const fn placeholder(self) -> &'static str {
        match self {
            Self::Flag => "",
            Self::Number | Self::Count | Self::Scaled => "N",
            Self::Time => "TIME",
            Self::Size => "SIZE",
            Self::Text | Self::Name(_) => "NAME",
            Self::File => "FILE",
        }
    }
}

#[cfg(test)]
impl Kind {
    /// A value that is no default.
    fn example(self) -> &'static str {
        match self {
            Self::Flag => "true",
            Self::Number | Self::Count | Self::Scaled => "7",
            Self::Time => "7s",
            Self::Size => "77B",
            Self::Text => "1h",
            Self::File => "other",
            Self::Name(names) => names.last().copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
impl<O: Rows> Row<O> {
    /// A value that is no default.
    pub(crate) fn example(&self, kind: Kind) -> &'static str {
        match self.key {
            "group" | "server_group" => "p384",
            "chain" => "intermediate",
            _ => kind.example(),
        }
    }
}

/// What depends on an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Figures: its value is in the key of a cell.
    Figures,
    /// Figures, and the key has it as a dimension of the cell, or as its engine or target.
    Dimension,
    /// No figure.
    Nothing,
}

/// Where an option is, and what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The heading of the help; `None` if it has no flag of its own.
    pub heading: Option<&'static str>,
    /// Whether only `--help-all` shows it.
    pub is_further: bool,
    /// Its flag, where that is not its key.
    flag: Option<&'static str>,
    /// Its short flag.
    pub short: Option<char>,
    placeholder: Option<&'static str>,
    /// Its key in files that people write, where the resolved form has another one.
    pub also: Option<&'static str>,
    is_always_written: bool,
    /// Whether its default depends on other options, so that its text says it.
    pub is_default_said: bool,
    /// The option that has to be typed as well.
    requires: Option<&'static str>,
    /// Options that cannot be typed as well.
    excludes: &'static [&'static str],
    /// What depends on it.
    pub changes: Changes,
}

impl Spec {
    /// An option without a flag of its own.
    pub const FILE: Self = Self {
        heading: None,
        is_further: false,
        flag: None,
        short: None,
        placeholder: None,
        also: None,
        is_always_written: false,
        is_default_said: false,
        requires: None,
        excludes: &[],
        changes: Changes::Figures,
    };

    /// An option with a flag under this heading of the help.
    pub const fn under(heading: &'static str) -> Self {
        Self {
            heading: Some(heading),
            ..Self::FILE
        }
    }

    /// The same with a flag under this heading of the help.
    pub const fn below(self, heading: &'static str) -> Self {
        Self {
            heading: Some(heading),
            ..self
        }
    }

    /// The same, whose text says what the default depends on.
    pub const fn default_said(self) -> Self {
        Self {
            is_default_said: true,
            ..self
        }
    }

    /// The same, which is typed with another option alone.
    pub const fn requires(self, key: &'static str) -> Self {
        Self {
            requires: Some(key),
            ..self
        }
    }

    /// The same, which is not typed with any of these options.
    pub const fn excludes(self, keys: &'static [&'static str]) -> Self {
        Self {
            excludes: keys,
            ..self
        }
    }

    /// The same, which only `--help-all` shows.
    pub const fn further(self) -> Self {
        Self {
            is_further: true,
            ..self
        }
    }

    /// The same with another flag than its key.
    pub const fn flag(self, flag: &'static str, short: Option<char>) -> Self {
        Self {
            flag: Some(flag),
            short,
            ..self
        }
    }

    /// The same with another word for its value in the help.
    pub const fn takes(self, placeholder: &'static str) -> Self {
        Self {
            placeholder: Some(placeholder),
            ..self
        }
    }

    /// The same with another key in files that people write.
    pub const fn also(self, key: &'static str) -> Self {
        Self {
            also: Some(key),
            ..self
        }
    }

    /// The same, which the resolved file has even where it is the default.
    pub const fn always_written(self) -> Self {
        Self {
            is_always_written: true,
            ..self
        }
    }

    /// Whether the resolved file has it even where it is the default.
    pub const fn is_always_written(&self) -> bool {
        self.is_always_written
    }

    /// The same, which changes no figure.
    pub const fn changes_nothing(self) -> Self {
        Self {
            changes: Changes::Nothing,
            ..self
        }
    }

    /// The same, which the key of a cell has as a dimension, an engine or a target.
    pub const fn dimension(self) -> Self {
        Self {
            changes: Changes::Dimension,
            ..self
        }
    }
}

/// Options that are declared by rows.
pub trait Rows: Sized + 'static {
    /// The rows, in the order of the resolved file.
    const ROWS: &'static [Row<Self>];

    /// Every default.
    fn defaults() -> Self;
}

impl<O: Rows> Row<O> {
    /// The parts of a row, as `options!` has them.
    pub const fn new(
        (key, doc, spec): (&'static str, &'static str, Spec),
        (kind, holds): (Option<Kind>, Holds),
        read: Option<ReadRow<O>>,
        value: fn(&O) -> Option<Tree>,
    ) -> Self {
        Self {
            key,
            doc,
            spec,
            kind,
            holds,
            read,
            value,
        }
    }

    /// What it is for, without a full stop.
    pub fn help(&self) -> &'static str {
        let text = self.doc.trim();
        text.strip_suffix('.').unwrap_or(text)
    }

    /// Its key in files that people write.
    pub fn written_key(&self) -> &'static str {
        self.spec.also.unwrap_or(self.key)
    }

    /// Its flag without dashes; `None` if it has none.
    pub fn flag(&self) -> Option<String> {
        self.spec.heading?;
        Some(
            self.spec
                .flag
                .map_or_else(|| self.key.replace('_', "-"), str::to_owned),
        )
    }

    /// Its default as text; `None` if there is none.
    pub fn default_text(&self) -> Option<String> {
        (self.value)(&O::defaults()).and_then(|value| value.scalar())
    }

    /// Its value in the resolved file; `None` if it is left out there.
    pub fn resolved(&self, options: &O) -> Option<Tree> {
        let value = (self.value)(options)?;
        let is_default = || (self.value)(&O::defaults()).as_ref() == Some(&value);
        (self.spec.is_always_written || self.read.is_none() || !is_default()).then_some(value)
    }

    /// The option of the command line; `None` if it has no flag.
    pub fn argument(&'static self) -> Option<clap::Arg> {
        let (flag, kind, heading) = (self.flag()?, self.kind?, self.spec.heading?);
        let argument = clap::Arg::new(self.key)
            .long(flag)
            .help(self.help())
            .help_heading(heading)
            .hide_short_help(self.spec.is_further)
            .conflicts_with_all(self.spec.excludes);
        let argument = match self.spec.requires {
            Some(key) => argument.requires(key),
            None => argument,
        };
        let argument = match self.spec.short {
            Some(short) => argument.short(short),
            None => argument,
        };
        if kind == Kind::Flag {
            return Some(argument.action(clap::ArgAction::SetTrue));
        }
        // The same reader as for files: a value means the same in both.
        let parser = move |text: &str| self.checked(text);
        let argument = argument
            .value_name(self.spec.placeholder.unwrap_or_else(|| kind.placeholder()))
            // A negative value would be taken for a flag, and the error would be about that.
            .allow_hyphen_values(true)
            .value_parser(parser);
        // A default that the text explains would be printed twice.
        Some(match self.default_text().filter(|_| !self.spec.is_default_said) {
            Some(default) => argument.default_value(default),
            None => argument,
        })
    }

    /// Sets it, as the command line has it.
    ///
    /// # Errors
    /// The text is no value of it.
    pub fn set(&self, text: &str, options: &mut O) -> Result<(), ScenarioError> {
        let Some(read) = self.read else { return Ok(()) };
        let flag = self.flag().unwrap_or_else(|| self.key.to_owned());
        let place = Place::Flag(format!("--{flag} {text}").into());
        read(text, options).map_err(|error| ScenarioError::new(&place, error.to_string()))
    }

    /// The text of a value that the option can have.
    fn checked(&self, text: &str) -> Result<String, ValueError> {
        if let Some(read) = self.read {
            read(text, &mut O::defaults())?;
        }
        Ok(text.to_owned())
    }
}

/// A kind, and what its key holds in files.
pub(crate) const fn of_kind(kind: Kind) -> (Option<Kind>, Holds) {
    (Some(kind), kind.holds())
}

/// The keys of rows in a file, with those of the resolved form.
pub fn keys<O: Rows>() -> Vec<&'static str> {
    let of_row = |row: &Row<O>| row.spec.also.into_iter().chain([row.key]);
    O::ROWS.iter().flat_map(of_row).collect()
}

/// Reads every option that is read by itself.
///
/// # Errors
/// A value cannot be read, or an option has two names.
pub(crate) fn read<O: Rows>(table: &Table<'_>, options: &mut O) -> Result<(), ScenarioError> {
    for row in O::ROWS {
        let Some(read) = row.read else { continue };
        let names = [Some(row.written_key()), row.spec.also.map(|_| row.key)];
        let mut given = names
            .into_iter()
            .flatten()
            .filter(|name| table.get(name).is_some());
        let Some(name) = given.next() else { continue };
        // Two names of one option with two values: none of them is the right one.
        if let Some(other) = given.next() {
            return Err(table.error(other, format!("{name} says the same: leave out one of them")));
        }
        if let Some(text) = table.one(name, table::text)? {
            read(&text, options).map_err(|error| table.error(name, error))?;
        }
    }
    Ok(())
}

/// Writes the resolved form.
pub(crate) fn serialize<O: Rows, S: Serializer>(options: &O, to: S) -> Result<S::Ok, S::Error> {
    serialize_as(to, |row: &Row<O>| row.resolved(options))
}

/// Writes each row as `value` says.
pub(crate) fn serialize_as<O: Rows, S: Serializer>(
    to: S,
    value: impl Fn(&Row<O>) -> Option<Tree>,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    for row in O::ROWS {
        if let Some(value) = value(row) {
            map.serialize_entry(row.key, &value)?;
        }
    }
    map.end()
}

/// Fields whose keys are no rows, and rows that are in no field and are not read by themselves. `outside` are the fields that no
/// file has.
#[cfg(test)]
pub(crate) fn strays<O: Rows>(
    by_hand: &[(&'static str, &'static [&'static str])],
    outside: &[&str],
) -> Vec<&'static str> {
    let is_row = |key: &&str| O::ROWS.iter().any(|row| row.key == *key);
    let is_lost = |(field, keys): &&(&'static str, &'static [&'static str])| {
        !keys.iter().all(is_row) || keys.is_empty() != outside.contains(field)
    };
    let fields = by_hand.iter().filter(is_lost).map(|(field, _)| *field);
    let is_held =
        |row: &&Row<O>| row.read.is_some() || by_hand.iter().any(|(_, keys)| keys.contains(&row.key));
    let rows = O::ROWS.iter().filter(|row| !is_held(row)).map(|row| row.key);
    fields.chain(rows).collect()
}

/// Declares options with their rows, in the order of the resolved file:
///
/// - `option NAME: TYPE as FORM = DEFAULT => SPEC;` a field, read and written by itself; its comment is its help
/// - `option NAME at PATH: FORM => SPEC;` the same for a field of a field
/// - `common NAME: ROW => SPEC;` a field that other commands have as well ([`SharedRow`])
/// - `common NAME at PATH: ROW => SPEC;` the same for a field of a field
/// - `keys NAME: HOLDS, by VALUE => SPEC;` a key that is read together with others
/// - `field NAME: TYPE = DEFAULT, in KEYS;` a field that these keys contain
macro_rules! options {
    ($(#[$meta:meta])* $name:ident by new($($argument:ident: $of:ty = $blank:expr),+) { $($entries:tt)* }) => {
        $crate::options::row::options!(@next ([$(#[$meta])*] $name [$($argument: $of = $blank),+]) [] [] [] [] $($entries)*);
    };
    (@next $head:tt [$($field:tt)*] [$($default:tt)*] $row:tt $held:tt
        common $key:ident: $common:ident => $spec:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head
            [$($field)* #[doc = concat!("The option [`", stringify!($common), "`].")]
                pub $key: $crate::options::row::Value<$common>,]
            [$($default)* $key: <$common as $crate::options::row::SharedRow>::default(),]
            $row $held common $key at $key: $common => $spec; $($rest)*);
    };
    (@next $head:tt $field:tt $default:tt [$($row:tt)*] $held:tt
        common $key:ident at $($path:ident).+: $common:ident => $spec:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head $field $default
            [$($row)* {
                (stringify!($key), <$common as $crate::options::row::SharedRow>::DOC, $spec),
                $crate::options::row::of_kind(<$crate::options::row::FormOf<$common> as $crate::options::row::Form>::KIND),
                Some(|text, options| {
                    options.$($path).+ =
                        <$crate::options::row::FormOf<$common> as $crate::options::row::Form>::read(text)?;
                    Ok(())
                }),
                |options| {
                    <$crate::options::row::FormOf<$common> as $crate::options::row::Form>::write(&options.$($path).+)
                }
            }]
            $held $($rest)*);
    };
    (@next $head:tt [$($field:tt)*] [$($default:tt)*] $row:tt $held:tt
        $(#[doc = $doc:literal])+ option $key:ident: $of:ty as $form:ty = $value:expr => $spec:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head
            [$($field)* $(#[doc = $doc])+ pub $key: $of,]
            [$($default)* $key: $value,]
            $row $held $(#[doc = $doc])+ option $key at $key: $form => $spec; $($rest)*);
    };
    (@next $head:tt $field:tt $default:tt [$($row:tt)*] $held:tt
        $(#[doc = $doc:literal])+ option $key:ident at $($path:ident).+: $form:ty => $spec:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head $field $default
            [$($row)* {
                (stringify!($key), concat!($($doc),+), $spec),
                $crate::options::row::of_kind(<$form as $crate::options::row::Form>::KIND),
                Some(|text, options| {
                    options.$($path).+ = <$form as $crate::options::row::Form>::read(text)?;
                    Ok(())
                }),
                |options| <$form as $crate::options::row::Form>::write(&options.$($path).+)
            }]
            $held $($rest)*);
    };
    (@next $head:tt $field:tt $default:tt [$($row:tt)*] $held:tt
        $(#[doc = $doc:literal])+ keys $key:ident: $holds:expr, by $value:expr => $spec:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head $field $default
            [$($row)* { (stringify!($key), concat!($($doc),+), $spec), (None, $holds), None, $value }]
            $held $($rest)*);
    };
    (@next $head:tt [$($field:tt)*] [$($default:tt)*] $row:tt [$($held:tt)*]
        $(#[doc = $doc:literal])+ field $key:ident: $of:ty = $value:expr, in $keys:expr; $($rest:tt)*) => {
        $crate::options::row::options!(@next $head
            [$($field)* $(#[doc = $doc])+ pub $key: $of,]
            [$($default)* $key: $value,]
            $row [$($held)* (stringify!($key), &$keys),] $($rest)*);
    };
    (@next ([$(#[$meta:meta])*] $name:ident [$($argument:ident: $of:ty = $blank:expr),+])
        [$($field:tt)*] [$($default:tt)*] [$({ $($row:tt)* })*] [$($held:tt)*]) => {
        $(#[$meta])*
        pub struct $name { $($field)* }

        impl $name {
            /// Every default filled in.
            pub fn new($($argument: $of),+) -> Self {
                Self { $($default)* }
            }

            /// The fields that are read by hand, with the keys that contain them.
            #[cfg(test)]
            pub(crate) const BY_HAND: &'static [(&'static str, &'static [&'static str])] = &[$($held)*];
        }

        impl $crate::options::row::Rows for $name {
            const ROWS: &'static [$crate::options::row::Row<Self>] = &[
                $($crate::options::row::Row::new($($row)*),)*
            ];

            fn defaults() -> Self {
                Self::new($($blank),+)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $crate::options::row::serialize(self, to)
            }
        }
    };
}
pub(crate) use options;
