//! The user of a client.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use wirecost_coap::edhoc::Failure;
use wirecost_files::Input;

/// Why a credential on the command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The file behind the @ is unreadable.
    #[error("cannot read {path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// The text has another form.
    #[error("expected {0}")]
    Form(&'static str),
    /// The key has no bytes.
    #[error("the key is empty: expected IDENTITY:KEY")]
    EmptyKey,
    /// The OSCORE master secret has no bytes.
    #[error("the secret is empty")]
    EmptySecret,
    /// A part that must be hexadecimal is not.
    #[error("{0:?} is not hex: expected two digits for each byte")]
    Hex(String),
    /// Keys of EDHOC that cannot be used.
    #[error("{}", edhoc_said(*.0))]
    Edhoc(#[from] Failure),
}

fn edhoc_said(failure: Failure) -> String {
    match failure {
        Failure::Key => {
            "the private key is none of P-256, or the credential is not that of the key".to_owned()
        }
        Failure::Credential => {
            "a credential is no claims set with subject, kid and key of P-256 (RFC 9528, section 3.5.2)"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// The user's name and the source of the password.
#[derive(Debug, Args)]
pub struct LoginArguments {
    /// User name for MQTT, AMQP, databases; %d is a load's device number
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Password of the user; - prompts at the terminal, or reads a line of standard input. Other users of this machine
    /// can see a password typed here in the process list [default: WIRECOST_PASSWORD]
    #[arg(long, value_name = "PASSWORD", allow_hyphen_values = true)]
    pub password: Option<String>,

    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", conflicts_with = "password")]
    pub password_file: Option<PathBuf>,
}

/// The value of an option, or the first line of the file that follows an @.
pub(super) fn given_or_in_file(text: &str) -> Result<Cow<'_, str>, CredentialError> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.into());
    };
    let content = Input::Secret
        .text(Path::new(path))
        .map_err(|error| CredentialError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
    let line = content.lines().next().unwrap_or_default();
    Ok(line.to_owned().into())
}
