//! A capture from front to back.

use std::io::Read;

use wirecost_wire::capture::{Item, ReadError, Reader};
use wirecost_wire::pcapng::SECRETS_TLS_KEY_LOG;

use crate::{Dissector, Report};

/// What a capture holds, as far as it could be read.
#[derive(Debug)]
pub struct Reading {
    /// What was found.
    pub report: Report,
    /// Why the capture could not be read to its end.
    pub fault: Option<ReadError>,
}

/// Reads a capture of either format; `key_log` adds to the secrets that it carries.
///
/// # Errors
/// The file is empty or no capture. One that is cut short or damaged further on is no error: see [`Reading::fault`].
pub fn read(source: impl Read, key_log: &str) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut dissector = Dissector::new();
    dissector.add_secrets(key_log);
    let fault = loop {
        match reader.item() {
            Ok(Some(Item::Packet(packet))) => dissector.packet(&packet),
            Ok(Some(Item::Secrets(secrets))) if secrets.secrets_type == SECRETS_TLS_KEY_LOG => {
                dissector.add_secrets(&String::from_utf8_lossy(&secrets.data));
            }
            Ok(Some(Item::Secrets(_))) => {}
            Ok(None) => break None,
            Err(fault) => break Some(fault),
        }
    };
    Ok(Reading {
        report: dissector.finish(),
        fault,
    })
}
