//! The secrets of a run in the key log format of Wireshark (NSS key log, RFC 9850).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Collects the secrets of any number of endpoints from any thread. Clones share the log.
#[derive(Clone, Default)]
pub struct KeyLog {
    lines: Option<Arc<Mutex<String>>>,
    /// No line is added after this number of bytes; `None` without a limit.
    most_bytes: Option<usize>,
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every configuration contains a key log and may be printed. The secrets must not be.
        let kept = if self.is_enabled() { "enabled" } else { "disabled" };
        f.debug_tuple("KeyLog").field(&kept).finish()
    }
}

impl KeyLog {
    /// A key log that discards everything.
    pub const fn disabled() -> Self {
        Self {
            lines: None,
            most_bytes: None,
        }
    }

    /// An empty key log.
    pub fn new() -> Self {
        Self {
            lines: Some(Arc::default()),
            most_bytes: None,
        }
    }

    /// An empty key log that keeps no line after the one with which it has `bytes` bytes.
    pub fn up_to(bytes: usize) -> Self {
        Self {
            most_bytes: Some(bytes),
            ..Self::new()
        }
    }

    /// Whether secrets are kept.
    pub const fn is_enabled(&self) -> bool {
        self.lines.is_some()
    }

    /// Adds a line with a label, the client's random and the secret.
    pub fn append(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let Some(lines) = &self.lines else { return };
        let mut line = String::with_capacity(label.len() + 2 * (client_random.len() + secret.len()) + 3);
        line.push_str(label);
        for bytes in [client_random, secret] {
            line.push(' ');
            for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
                line.extend(char::from_digit(digit.into(), 16));
            }
        }
        line.push('\n');
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if self.most_bytes.is_none_or(|most| lines.len() < most) {
            lines.push_str(&line);
        }
    }

    /// Removes and returns the lines since the last call. A caller can write them while connections come and go.
    pub fn take(&self) -> String {
        let Some(lines) = &self.lines else {
            return String::new();
        };
        std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All lines so far, each once: both ends of a connection add the same lines.
    pub fn text(&self) -> String {
        let Some(lines) = &self.lines else {
            return String::new();
        };
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = std::collections::BTreeSet::new();
        let mut text = String::with_capacity(lines.len());
        for line in lines.lines().filter(|line| seen.insert(*line)) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

impl rustls::KeyLog for KeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.append(label, client_random, secret);
    }

    fn will_log(&self, _label: &str) -> bool {
        self.is_enabled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let log = KeyLog::new();
        log.append("CLIENT_RANDOM", &[0xab], &[0xcd]);
        assert_eq!(format!("{log:?}"), "KeyLog(\"enabled\")");
    }

    #[test]
    fn a_key_log_with_a_limit_keeps_its_first_lines() {
        let log = KeyLog::up_to(1);
        for secret in [1, 2] {
            log.append("CLIENT_RANDOM", &[0], &[secret]);
        }
        assert_eq!(log.take(), "CLIENT_RANDOM 00 01\n");
    }

    #[test]
    fn every_secret_occurs_once_and_a_disabled_log_keeps_none() {
        let log = KeyLog::new();
        for _ in 0..2 {
            log.clone().append("CLIENT_RANDOM", &[0, 0xab], &[0xff]);
        }
        assert_eq!(log.text(), "CLIENT_RANDOM 00ab ff\n");
        assert_eq!(log.take(), "CLIENT_RANDOM 00ab ff\n".repeat(2));
        assert_eq!(log.take(), "");
        let none = KeyLog::disabled();
        none.append("CLIENT_RANDOM", &[0], &[0]);
        assert_eq!(none.text(), "");
    }
}
