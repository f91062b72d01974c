//! Options that are declared by rows, as clap sees them.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches};
use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::options::row::{Kind, Row, Rows};

/// The names of the arguments that the user typed, without defaults.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<String>);

impl Given {
    /// Whether an argument has been typed.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|given| given == name)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(clap::Id::as_str);
        let typed = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(typed.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

/// The options of `O` that were typed, with their texts.
#[derive(Clone, Debug)]
pub struct Typed<O: Rows>(Vec<(&'static Row<O>, String)>);

impl<O: Rows> Typed<O> {
    /// Sets them.
    ///
    /// # Errors
    /// A text is no value of its option.
    pub fn set(&self, options: &mut O) -> Result<(), ScenarioError> {
        self.0.iter().try_for_each(|(row, text)| row.set(text, options))
    }

    /// Whether an option has been typed.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(row, _)| row.key == key)
    }
}

impl<O: Rows> FromArgMatches for Typed<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |row: &'static Row<O>| {
            row.flag()?;
            let source = matches.value_source(row.key)?;
            let text = match row.kind? {
                Kind::Flag => matches.get_flag(row.key).to_string(),
                Kind::Number
                | Kind::Count
                | Kind::Scaled
                | Kind::Time
                | Kind::Size
                | Kind::Text
                | Kind::File
                | Kind::Name(_) => matches.get_one::<String>(row.key)?.clone(),
            };
            // A default that nobody typed must not stand above a value of the scenario.
            (source == ValueSource::CommandLine).then_some((row, text))
        };
        Ok(Self(O::ROWS.iter().filter_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<O: Rows> Args for Typed<O> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(O::ROWS.iter().filter_map(Row::argument))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}
