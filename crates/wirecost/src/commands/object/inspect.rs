//! `wirecost object inspect`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wirecost_security::object::inspect::{InspectedPart, Recipient};
use wirecost_security::object::{Inspection, Rule, UnixTime, inspect, verify};

use super::files;
use crate::arguments::InspectArguments;
use crate::exit::Failure;
use crate::output;

/// Runs the command.
pub(super) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let signers = files::signers(&arguments.signer)?;
    let object = files::read(&arguments.object)?;
    let inspection = inspect(&object)?;
    let verified = if signers.is_empty() {
        None
    } else {
        Some(verify(&object, &signers))
    };
    let holds = verified.as_ref().map(Result::is_ok);
    output::table_or_json(
        arguments.json.as_deref(),
        || Ok(format!("{:#}", to_json(&inspection, holds))),
        || to_text(&inspection, holds),
    )?;
    // Behind the output: what a forged object holds is what a user wants to see.
    verified.unwrap_or(Ok(())).map_err(Failure::from)
}

fn to_text(inspection: &Inspection, holds: Option<bool>) -> String {
    let mut text = format!(
        "object {} B: {} B payload, {} B security\n",
        inspection.bytes,
        inspection.payload_bytes(),
        inspection.security_bytes()
    );
    let signature = match holds {
        // The key's identifier in the object is the sender's word: only a key from elsewhere says who signed.
        None => "not checked: give the signer's public key with --signer",
        Some(true) => "holds",
        Some(false) => "does not hold",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "rules {} B, signed by {} (signature {signature})",
        inspection.rules_bytes, inspection.signer
    );
    for rule in &inspection.rules {
        let Rule {
            participant, part, ..
        } = rule;
        let _ = writeln!(text, "  {participant} may open part {part} {}", window(rule));
    }
    for (index, part) in inspection.parts.iter().enumerate() {
        let _ = writeln!(
            text,
            "part {index} {} B: {} B payload",
            part.bytes, part.payload_bytes
        );
        for recipient in &part.recipients {
            let Recipient { participant, curve } = recipient;
            let _ = writeln!(text, "  key wrapped for {participant} ({curve})");
        }
    }
    text
}

fn window(rule: &Rule) -> String {
    match (rule.not_before, rule.not_after) {
        (UnixTime::MIN, UnixTime::MAX) => "at any time".to_owned(),
        (UnixTime::MIN, until) => format!("until {until}"),
        (from, UnixTime::MAX) => format!("from {from} on"),
        (from, until) => format!("from {from} until {until}"),
    }
}

fn to_json(inspection: &Inspection, holds: Option<bool>) -> Value {
    let parts: Vec<Value> = inspection.parts.iter().map(part_to_json).collect();
    let rules: Vec<Value> = inspection.rules.iter().map(rule_to_json).collect();
    json!({
        "bytes": inspection.bytes,
        "payload_bytes": inspection.payload_bytes(),
        "security_bytes": inspection.security_bytes(),
        "rules_bytes": inspection.rules_bytes,
        "signer": inspection.signer.to_string(),
        "signature_holds": holds,
        "rules": rules,
        "parts": parts,
    })
}

fn rule_to_json(rule: &Rule) -> Value {
    json!({
        "participant": rule.participant.to_string(),
        "part": rule.part,
        "not_before": rule.not_before.to_string(),
        "not_after": rule.not_after.to_string(),
    })
}

fn part_to_json(part: &InspectedPart) -> Value {
    let recipients = part.recipients.iter().map(|recipient| {
        json!({"participant": recipient.participant.to_string(), "curve": recipient.curve.name()})
    });
    json!({
        "bytes": part.bytes,
        "payload_bytes": part.payload_bytes,
        "recipients": recipients.collect::<Vec<_>>(),
    })
}
