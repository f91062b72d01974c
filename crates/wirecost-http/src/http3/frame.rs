//! Frames of HTTP/3 (RFC 9114 section 7): headers and SETTINGS.

use super::varint;
use crate::fault::{Code, Fault};

/// DATA (RFC 9114 section 7.2.1).
pub const DATA: u64 = 0x00;
/// HEADERS (RFC 9114 section 7.2.2).
pub const HEADERS: u64 = 0x01;
/// CANCEL_PUSH (RFC 9114 section 7.2.3).
pub const CANCEL_PUSH: u64 = 0x03;
/// SETTINGS (RFC 9114 section 7.2.4).
pub const SETTINGS: u64 = 0x04;
/// PUSH_PROMISE (RFC 9114 section 7.2.5).
pub const PUSH_PROMISE: u64 = 0x05;
/// GOAWAY (RFC 9114 section 7.2.6).
pub const GOAWAY: u64 = 0x07;
/// MAX_PUSH_ID (RFC 9114 section 7.2.7).
pub const MAX_PUSH_ID: u64 = 0x0d;

/// Whether the type is reserved because HTTP/2 used it (RFC 9114 section 7.2.8).
pub(crate) const fn is_forbidden(kind: u64) -> bool {
    matches!(kind, 0x02 | 0x06 | 0x08 | 0x09)
}

/// The header of a frame: type and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type.
    pub kind: u64,
    /// Bytes after the header.
    pub len: u64,
}

impl Header {
    /// The header at the start of `bytes` and its length, or `None` if it is incomplete.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (kind, kind_len) = varint::read(bytes)?;
        let (len, len_len) = varint::read(bytes.get(kind_len..)?)?;
        Some((Self { kind, len }, kind_len + len_len))
    }

    /// Appends the header.
    pub fn push(self, out: &mut Vec<u8>) {
        varint::push(self.kind, out);
        varint::push(self.len, out);
    }
}

/// Appends a frame.
pub fn push(kind: u64, content: &[u8], out: &mut Vec<u8>) {
    let len = content.len() as u64;
    Header { kind, len }.push(out);
    out.extend_from_slice(content);
}

/// Checks the content of a SETTINGS frame. No setting matters here: unknown settings must be ignored, and the known
/// ones are limits that this side never reaches.
///
/// # Errors
/// H3_FRAME_ERROR if a setting is truncated, H3_SETTINGS_ERROR if one belongs to HTTP/2 or occurs twice.
pub(crate) fn check_settings(content: &[u8]) -> Result<(), Fault> {
    let mut rest = content;
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let cut_off = Code::FrameError.fault("a truncated setting");
        // A setting is an identifier and a value. A frame header has the same layout.
        let (setting, len) = Header::read(rest).ok_or(cut_off)?;
        // RFC 9114 section 7.2.4.1: reserved, because HTTP/2 used them.
        if matches!(setting.kind, 0x00 | 0x02..=0x05) {
            return Err(Code::SettingsError.fault("a setting of HTTP/2"));
        }
        if seen.contains(&setting.kind) {
            return Err(Code::SettingsError.fault("a repeated setting"));
        }
        seen.push(setting.kind);
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let table: [(&[u8], Option<Code>); 7] = [
            (&[], None),
            (&[0x01, 0x00, 0x07, 0x10], None),
            (&[0x40, 0x5f, 0x09], None),
            (&[0x01], Some(Code::FrameError)),
            (&[0x02, 0x00], Some(Code::SettingsError)),
            (&[0x04, 0x40, 0x40], Some(Code::SettingsError)),
            (&[0x06, 0x01, 0x06, 0x02], Some(Code::SettingsError)),
        ];
        for (content, code) in table {
            assert_eq!(
                check_settings(content).err().map(|fault| fault.code),
                code,
                "{content:x?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn a_frame_is_as_long_as_it_says(
            kind in 0..=varint::MAX,
            len in proptest::prop_oneof![0usize..100, 16_300usize..16_500, proptest::prelude::Just(1 << 20)],
            said in 0..=varint::MAX,
        ) {
            let mut out = Vec::new();
            push(kind, &vec![7; len], &mut out);
            let (header, header_bytes) = Header::read(&out).expect("a header");
            assert_eq!((header.kind, header.len), (kind, len as u64));
            assert_eq!(header_bytes + len, out.len());
            // A header may come before content that is sent later.
            let mut out = Vec::new();
            Header { kind, len: said }.push(&mut out);
            assert_eq!(Header::read(&out), Some((Header { kind, len: said }, out.len())));
        }
    }
}
