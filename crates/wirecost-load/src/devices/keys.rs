//! The secrets of a load's connections, which decrypt its capture.
//!
//! Every part keeps the secrets of its own devices and sends them when its loop has ended and measurement is over. It
//! sends them in chunks, so that the coordinator, which waits only while data arrives, can tell a slow part from a dead
//! one. A worker process sends them over the same pipe as everything else. No file holds them before the capture.

use std::fmt;

use serde::{Deserialize, Serialize};
use wirecost_proto::units::counted;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_security::KeyLog;
use wirecost_stack::{Channel, Stack};

use crate::devices::destination::Destination;
use crate::devices::traffic::is_observed;

/// A chunk ends with the line that passes this size, in bytes: the secrets of about 150 connections.
const PIECE_BYTES: usize = 64 << 10;

/// Lines of a key log.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLines(String);

impl KeyLines {
    /// Takes the lines that a key log has collected.
    pub fn from_log(log: &KeyLog) -> Self {
        Self(log.take())
    }

    /// Appends other lines.
    pub fn add(&mut self, others: Self) {
        if self.0.is_empty() {
            *self = others;
        } else {
            self.0.push_str(&others.0);
        }
    }

    /// Splits the lines into chunks, in order. No lines give no chunk.
    pub fn pieces(&self) -> impl Iterator<Item = Self> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let behind = rest.get(PIECE_BYTES..).and_then(|later| later.find('\n'));
            let length = behind.map_or(rest.len(), |behind| PIECE_BYTES + behind + 1);
            let (piece, later) = rest.split_at(length);
            rest = later;
            (!piece.is_empty()).then(|| Self(piece.to_owned()))
        })
    }

    /// The text of all lines, each with its line end.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets stay out of logs.
        f.debug_struct("KeyLines").finish_non_exhaustive()
    }
}

/// The secrets of the observed devices that a part keeps at most, in bytes: those of 15,000 connections, which have more than the
/// packets that are observed.
const OBSERVED_BYTES: usize = 16 << 20;

/// The key log of a load's connections, which collects nothing if secrets are not kept.
pub(crate) fn key_log(options: &LoadOptions) -> KeyLog {
    if options.keeps_keys() {
        KeyLog::new()
    } else {
        KeyLog::disabled()
    }
}

/// The key log of the devices that are observed on the link, where the capture does not get the secrets of all devices. Their
/// secrets describe their packets and are in no file.
pub(crate) fn observed_key_log(options: &LoadOptions) -> KeyLog {
    if !options.keeps_keys() && is_observed(options) {
        KeyLog::up_to(OBSERVED_BYTES)
    } else {
        KeyLog::disabled()
    }
}

/// The number of OSCORE contexts that the server of a stack needs for `devices`.
pub(crate) fn context_count(stack: Stack, devices: u32) -> usize {
    match stack.channel {
        Channel::Oscore => devices as usize,
        Channel::Plain
        | Channel::Tls13
        | Channel::Tls12
        | Channel::Dtls13
        | Channel::Dtls12
        | Channel::Dtls12Psk
        | Channel::Dtls12Cid => 0,
    }
}

/// The OSCORE contexts of a load's devices, which have no key log format; `None` if there are none, or if they are not
/// kept.
pub fn oscore_contexts(options: &LoadOptions, destination: &Destination) -> Option<String> {
    if !options.keeps_keys() || options.stack.channel != Channel::Oscore {
        return None;
    }
    let devices = options.clients.saturating_add(options.receivers());
    destination.oscore_contexts(u16::try_from(devices).unwrap_or(u16::MAX))
}

/// The warning about a capture that lacks the secrets of some parts of its load.
pub fn lack(of_parts: usize, parts: u32) -> Option<Warning> {
    (of_parts > 0).then(|| {
        let text = format!(
            "{of_parts} of {} of the generator did not hand over all secrets of their connections: what their \
             devices sent and received cannot be opened in the capture",
            counted(parts.into(), "part")
        );
        Warning::note(WarningKind::CaptureWithoutKeys, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(random: u8) -> KeyLines {
        let log = KeyLog::new();
        log.append("CLIENT_RANDOM", &[random], &[0xcd]);
        KeyLines::from_log(&log)
    }

    #[test]
    fn the_lines_of_all_parts_are_kept_and_never_printed() {
        let mut all = KeyLines::default();
        all.add(lines(1));
        all.add(lines(2));
        assert_eq!(all.text(), "CLIENT_RANDOM 01 cd\nCLIENT_RANDOM 02 cd\n");
        assert!(!format!("{all:?}").contains("cd"));
    }

    #[test]
    fn many_lines_split_into_chunks_at_line_ends() {
        let log = KeyLog::new();
        for number in 0..2_000_u32 {
            log.append("SERVER_HANDSHAKE_TRAFFIC_SECRET", &number.to_be_bytes(), &[7; 32]);
        }
        let all = KeyLines::from_log(&log);
        let pieces: Vec<KeyLines> = all.pieces().collect();
        assert!(pieces.len() > 2);
        let mut sum = KeyLines::default();
        for piece in pieces {
            assert!(piece.text().ends_with('\n') && piece.text().len() < PIECE_BYTES + 200);
            sum.add(piece);
        }
        assert!(sum == all);
        assert_eq!(KeyLines::default().pieces().count(), 0);
    }

    #[test]
    fn a_capture_that_lacks_secrets_has_a_warning() {
        assert_eq!(lack(0, 4), None);
        assert!(lack(1, 4).is_some_and(|warning| warning.text.starts_with("1 of 4 parts ")));
    }
}
