//! `wirecost object`: seals, opens and inspects payloads that carry their own protection.

pub(super) mod files;
mod inspect;
mod keygen;
mod open;
mod seal;

use std::process::ExitCode;

use wirecost_security::entropy::NoEntropy;
use wirecost_security::object::{KeyError, Refusal, SealError};

use crate::arguments::{ObjectArguments, ObjectCommand};
use crate::exit::{self, Failure};

/// Runs the command.
pub fn run(arguments: &ObjectArguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        ObjectCommand::Keygen(arguments) => keygen::run(arguments)?,
        ObjectCommand::Seal(arguments) => seal::run(arguments)?,
        ObjectCommand::Open(arguments) => open::run(arguments)?,
        ObjectCommand::Inspect(arguments) => inspect::run(arguments)?,
    }
    Ok(ExitCode::from(exit::OK))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Malformed { .. } | Refusal::NoSuchPart { .. } => exit::USAGE,
            _ => exit::REFUSED,
        };
        Self::new(code, &refusal).with_hint(way_out(&refusal))
    }
}

const fn way_out(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Malformed { .. } => "objects are made by wirecost object seal",
        Refusal::UnknownSigner(_) => "if you trust this signer, give the public key with --signer",
        Refusal::Tampered(_) => "get the object again from where it was sealed, and do not use this one",
        Refusal::Outsider(_) => {
            "give the key that the object was sealed for with --key, or have it sealed for this one"
        }
        Refusal::NoSuchPart { .. } | Refusal::NotHisPart { .. } => {
            "wirecost object inspect shows who may open which part: choose one with --part"
        }
        Refusal::NotYet { .. } => "wait until then, or set this machine's clock if it is wrong",
        Refusal::Expired { .. } => "have it sealed anew, or set this machine's clock if it is wrong",
    }
}

impl From<SealError> for Failure {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Entropy(_) | SealError::Library(_) => Self::internal(error),
            SealError::NobodyMayOpen(_) => {
                Self::usage(error).with_hint("name somebody with --to FILE.pub, or leave the part out")
            }
            SealError::NoSuchPart { .. } => {
                Self::usage(error).with_hint("parts are counted from 0, in the order of the files")
            }
            _ => Self::usage(error).with_hint("see wirecost object seal --help for what --to takes"),
        }
    }
}

impl From<NoEntropy> for Failure {
    fn from(error: NoEntropy) -> Self {
        Self::internal(error)
    }
}

/// The failure of a key, with its file.
fn key_failure(file: &std::path::Path, error: KeyError) -> Failure {
    if let KeyError::Entropy(error) = error {
        return error.into();
    }
    let hint = match error {
        KeyError::Private => "give the .pub file",
        KeyError::Missing("private half") => "give the .key file",
        _ => "wirecost object keygen makes keys: x25519 or p256 to open, sign to sign",
    };
    Failure::usage(format_args!("{}: {error}", file.display())).with_hint(hint)
}
