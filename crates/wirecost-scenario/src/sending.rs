//! The payload of a comparison, and how it is read.

use wirecost_proto::ByteSize;

use crate::error::ScenarioError;
use crate::load::{self, ScenarioInputs};
use crate::options::compare::Options;
use crate::options::content::{Contents, READINGS_KEYS};
use crate::options::load::Payload;
use crate::table::Table;

/// Reads the payload of messages. A scenario with a payload has no sizes.
///
/// # Errors
/// A value cannot be read, or the payload and the size differ.
pub(crate) fn read(
    table: &Table<'_>,
    options: &mut Options,
    inputs: ScenarioInputs<'_>,
) -> Result<(), ScenarioError> {
    let Some(node) = table.get("payload") else {
        return Ok(());
    };
    if let Some(key) = READINGS_KEYS.into_iter().find(|key| table.get(key).is_some()) {
        return Err(table.error(key, "payload says what a message carries: leave out one of them"));
    }
    let bytes = match load::payload(node, inputs, options.seed)? {
        Payload::File(bytes) => bytes,
        _ => {
            let text =
                "file or hex is expected: messages of a comparison are equal, and size gives random bytes";
            return Err(table.error("payload", text));
        }
    };
    let size = ByteSize::from_bytes(bytes.len() as u64);
    // The resolved form has both.
    if table.get("size").is_some() && options.contents != Contents::Sizes(vec![size]) {
        return Err(table.error("size", format!("the payload has {size}: leave out size")));
    }
    options.contents = Contents::Sizes(vec![size]);
    options.sending.payload = Some(bytes);
    Ok(())
}
