//! `wirecost object keygen`.

use std::path::{Path, PathBuf};

use serde_json::json;
use wirecost_security::entropy::Entropy;
use wirecost_security::object::{Curve, KeyError, KeyId, Secret, SigningKey};

use super::files::{self, Readers};
use super::key_failure;
use crate::arguments::{KeyKind, KeygenArguments};
use crate::exit::Failure;
use crate::output;

/// Both halves of a key, as file contents.
struct Generated {
    id: KeyId,
    private: Vec<u8>,
    public: Vec<u8>,
}

/// Runs the command.
pub(super) fn run(arguments: &KeygenArguments) -> Result<(), Failure> {
    let key = generate(arguments.kind).map_err(|error| key_failure(&arguments.file, error))?;
    let private = with_ending(&arguments.file, ".key");
    let public = with_ending(&arguments.file, ".pub");
    files::write_new(&private, &key.private, Readers::Owner)?;
    files::write_new(&public, &key.public, Readers::Everybody)?;
    // A path need not be text, and JSON has texts alone.
    let shown = [&private, &public].map(|path| path.display().to_string());
    let made = json!({"id": key.id.to_string(), "private": shown[0], "public": shown[1]});
    let text = || format!("{} {}\n", key.id, public.display());
    output::table_or_json(arguments.json.as_deref(), || Ok(format!("{made:#}")), text)
}

fn generate(kind: KeyKind) -> Result<Generated, KeyError> {
    let mut entropy = Entropy::system();
    let curve = match kind {
        KeyKind::X25519 => Curve::X25519,
        KeyKind::P256 => Curve::P256,
        KeyKind::Sign => {
            let key = SigningKey::generate(&mut entropy)?;
            return Ok(Generated {
                id: key.id(),
                private: key.to_cose_key()?,
                public: key.signer().to_cose_key(),
            });
        }
    };
    let secret = Secret::generate(curve, &mut entropy)?;
    Ok(Generated {
        id: secret.id(),
        private: secret.to_cose_key()?,
        public: secret.participant().to_cose_key(),
    })
}

/// The name with an ending, whatever dots the name contains.
fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
