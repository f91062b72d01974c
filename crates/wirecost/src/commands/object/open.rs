//! `wirecost object open`.

use std::time::SystemTime;

use serde_json::json;
use wirecost_security::object::{Opener, Refusal, Secret, UnixTime};

use super::files::{self, Readers};
use crate::arguments::OpenArguments;
use crate::exit::Failure;
use crate::output;

/// Runs the command.
pub(super) fn run(arguments: &OpenArguments) -> Result<(), Failure> {
    files::check_stdout(arguments.json.as_deref(), &arguments.out, "the part")?;
    let secret = files::key(&arguments.key, Secret::from_cose_key)?;
    let opener = Opener::new(secret, files::signers(&arguments.signer)?);
    let object = files::read(&arguments.object)?;
    let at = arguments.at.unwrap_or_else(now);
    let opened = opener.open(&object, arguments.part, at);
    if let Some(path) = &arguments.json {
        output::json(path, &outcome(&opened, arguments.part))?;
    }
    files::write(&arguments.out, &opened?, Readers::Owner)
}

fn outcome(opened: &Result<Vec<u8>, Refusal>, part: usize) -> serde_json::Value {
    match opened {
        Ok(content) => json!({"opened": true, "part": part, "bytes": content.len()}),
        Err(refusal) => json!({
            "opened": false,
            "part": part,
            "refusal": refusal.name(),
            "reason": refusal.to_string(),
        }),
    }
}

/// The machine's clock, by which rules are checked. Times before 1970 count as 1970.
fn now() -> UnixTime {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.unwrap_or_default().into()
}
