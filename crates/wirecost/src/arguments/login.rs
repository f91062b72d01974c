//! Who a client says that it is.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;

/// A user and where its password is.
#[derive(Debug, Args)]
pub struct LoginArguments {
    /// User for MQTT and AMQP; in a load %d is the device's number
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Password of the user; - asks for it at the terminal, or reads a line of standard input. Every user of the
    /// machine can read a password that is typed here in the list of processes [default: what WIRECOST_PASSWORD
    /// holds]
    #[arg(long, value_name = "PASSWORD", allow_hyphen_values = true)]
    pub password: Option<String>,

    /// File with the password of the user in its first line
    #[arg(long, value_name = "FILE", conflicts_with = "password")]
    pub password_file: Option<PathBuf>,
}

/// What an option holds, or the first line of the file that is named behind an @.
pub(super) fn given_or_in_file(text: &str) -> Result<Cow<'_, str>, String> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.into());
    };
    let content = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let line = content.lines().next().unwrap_or_default();
    Ok(line.to_owned().into())
}
