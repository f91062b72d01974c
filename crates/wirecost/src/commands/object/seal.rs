//! `wirecost object seal`.

use serde_json::json;
use wirecost_security::entropy::Entropy;
use wirecost_security::object::{KeyId, Participant, Rule, Sealer, SigningKey};

use super::files::{self, Readers};
use crate::arguments::{Grant, SealArguments};
use crate::exit::Failure;
use crate::output;

/// Runs the command.
pub(super) fn run(arguments: &SealArguments) -> Result<(), Failure> {
    files::check_stdout(arguments.json.as_deref(), &arguments.out, "the object")?;
    if arguments
        .parts
        .iter()
        .filter(|part| files::is_standard(part))
        .count()
        > 1
    {
        // The first part would read stdin to its end, and the second would be empty.
        return Err(Failure::usage("stdin can be one part only").with_hint("put the other parts into files"));
    }
    let key = files::key(&arguments.key, SigningKey::from_cose_key)?;
    let (participants, rules) = rules(&arguments.to, arguments.parts.len())?;
    // Before the parts are read: rules that cannot be kept are refused before anyone waits for stdin.
    let sealer = Sealer::new(key, participants, rules)?;
    let parts = arguments.parts.iter().map(|part| files::read(part));
    let parts: Vec<Vec<u8>> = parts.collect::<Result<_, _>>()?;
    let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let sealed = sealer.seal(&slices, &mut Entropy::system())?;
    files::write(&arguments.out, &sealed.bytes, Readers::Everybody)?;
    let payload: usize = parts.iter().map(Vec::len).sum();
    let (bytes, security) = (sealed.bytes.len(), sealed.bytes.len() - payload);
    match &arguments.json {
        Some(path) => {
            let sizes = json!({"bytes": bytes, "payload_bytes": payload, "security_bytes": security});
            output::json(path, &sizes)
        }
        None => {
            output::note(format_args!(
                "{bytes} B: {payload} B payload, {security} B security"
            ));
            Ok(())
        }
    }
}

/// Every named participant once, and their grants.
fn rules(grants: &[Grant], parts: usize) -> Result<(Vec<Participant>, Vec<Rule>), Failure> {
    let mut participants: Vec<Participant> = Vec::new();
    let mut rules = Vec::new();
    for grant in grants {
        let participant = files::key(&grant.file, Participant::from_cose_key)?;
        let id = participant.id();
        // A participant may have several grants, and its key is wrapped once for each part.
        if participants.iter().all(|other| other.id() != id) {
            participants.push(participant);
        }
        match grant.part {
            Some(part) => rules.push(rule(grant, id, part)),
            None => rules.extend((0..parts).map(|part| rule(grant, id, part))),
        }
    }
    Ok((participants, rules))
}

const fn rule(grant: &Grant, participant: KeyId, part: usize) -> Rule {
    Rule {
        participant,
        part,
        not_before: grant.from,
        not_after: grant.until,
    }
}
