//! The boundaries of records (RFC 8446 section 5.1, RFC 5246 section 6.2).

/// Bytes of a record's header: content type, version, length.
pub const HEADER_BYTES: usize = 5;

/// The most plaintext bytes of a record (RFC 8446 section 5.1: 2^14).
pub const MAX_PLAINTEXT_BYTES: usize = 1 << 14;

/// The most bytes after a header (RFC 5246 section 6.2.3: 2^14 + 2,048; RFC 8446 section 5.2 allows fewer).
const MAX_FRAGMENT_BYTES: usize = MAX_PLAINTEXT_BYTES + 2_048;

/// The content type in a record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// Switches to the negotiated keys. In TLS 1.3 it only serves middleboxes (RFC 8446, appendix D.4).
    ChangeCipherSpec,
    /// An alert, unencrypted or protected by TLS 1.2.
    Alert,
    /// A handshake message, unencrypted or protected by TLS 1.2.
    Handshake,
    /// Application data. In TLS 1.3 all protected records (RFC 8446 section 5.2).
    ApplicationData,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The content type.
    pub content_type: ContentType,
    /// Bytes after the header.
    pub length: usize,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARecord {
    /// The first byte is not a content type.
    #[error("content type {0:#04x}, expected 0x14 to 0x17")]
    ContentType(u8),
    /// The major version is not that of TLS.
    #[error("record version {0:#06x}, expected 0x03xx")]
    Version(u16),
    /// The record exceeds the maximum length.
    #[error("record of {0} bytes, expected at most {MAX_FRAGMENT_BYTES}")]
    Length(usize),
}

impl Header {
    /// The header at the start of `bytes`, or `None` if it is incomplete.
    ///
    /// # Errors
    /// [`NotARecord`] as soon as a byte cannot belong to a header.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, NotARecord> {
        let Some(&content_type) = bytes.first() else {
            return Ok(None);
        };
        // RFC 8446 appendix B.1.
        let content_type = match content_type {
            20 => ContentType::ChangeCipherSpec,
            21 => ContentType::Alert,
            22 => ContentType::Handshake,
            23 => ContentType::ApplicationData,
            other => return Err(NotARecord::ContentType(other)),
        };
        let Some(&[_, major, minor, high, low]) = bytes.first_chunk() else {
            return Ok(None);
        };
        // RFC 8446 section 5.1: 0x0301 in a first ClientHello, 0x0303 everywhere else.
        if major != 3 {
            return Err(NotARecord::Version(u16::from_be_bytes([major, minor])));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MAX_FRAGMENT_BYTES {
            return Err(NotARecord::Length(length));
        }
        Ok(Some(Self { content_type, length }))
    }

    /// Bytes of the whole record.
    pub const fn record_bytes(&self) -> usize {
        HEADER_BYTES + self.length
    }
}

/// The complete records at the start of `bytes`, with their headers.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header = Header::parse(rest).ok()??;
        let (record, behind) = rest.split_at_checked(header.record_bytes())?;
        rest = behind;
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_headers() {
        let header = |content_type, length| Ok(Some(Header { content_type, length }));
        let cases: [(&[u8], _); 10] = [
            (&[], Ok(None)),
            (&[0x16, 0x03, 0x01, 0x00], Ok(None)),
            (
                &[0x16, 0x03, 0x01, 0x01, 0x02],
                header(ContentType::Handshake, 0x102),
            ),
            (
                &[0x14, 0x03, 0x03, 0x00, 0x01],
                header(ContentType::ChangeCipherSpec, 1),
            ),
            (&[0x15, 0x03, 0x03, 0x00, 0x02], header(ContentType::Alert, 2)),
            (
                &[0x17, 0x03, 0x03, 0x48, 0x00],
                header(ContentType::ApplicationData, 18_432),
            ),
            (&[0x17, 0x03, 0x03, 0x48, 0x01], Err(NotARecord::Length(18_433))),
            (b"HTTP/", Err(NotARecord::ContentType(b'H'))),
            (&[0x18], Err(NotARecord::ContentType(0x18))),
            (&[0x16, 0x02, 0x00, 0x00, 0x00], Err(NotARecord::Version(0x200))),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Header::parse(bytes), expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn walks_whole_records() {
        let bytes = [0x16, 3, 3, 0, 1, 9, 0x17, 3, 3, 0, 0, 0x17, 3, 3, 0, 2, 1];
        let lengths: Vec<usize> = records(&bytes).map(<[u8]>::len).collect();
        assert_eq!(lengths, [6, 5]);
    }

    proptest::proptest! {
        #[test]
        fn records_of_any_bytes_lie_end_to_end(bytes in proptest::collection::vec(0u8.., 0..200)) {
            let covered: usize = records(&bytes).map(<[u8]>::len).sum();
            assert!(covered <= bytes.len());
        }
    }
}
