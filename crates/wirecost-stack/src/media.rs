//! What a message says about its payload, in the terms of each protocol.

use std::sync::Arc;

use wirecost_readings::{Batch, Compression};

/// The type and the coding of a payload, as far as each protocol has a field and a registered value for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// The media type: Content-Type of HTTP, content-type of AMQP.
    pub content_type: &'static str,
    /// The content coding: Content-Encoding of HTTP, content-encoding of AMQP.
    pub content_coding: Option<&'static str>,
    /// The Content-Format of CoAP.
    pub content_format: u16,
    /// The Content Type property of MQTT 5, which has no second property for the coding.
    pub mqtt_content_type: Option<&'static str>,
}

/// The number of application/octet-stream among the Content-Formats of CoAP (RFC 7252, section 12.3).
const OCTET_STREAM: u16 = 42;

impl Media {
    /// Bytes of no known type.
    pub const BYTES: Self = Self {
        content_type: "application/octet-stream",
        content_coding: None,
        content_format: OCTET_STREAM,
        mqtt_content_type: None,
    };

    /// Readings in an encoding, with a compression.
    ///
    /// No Content-Format is registered for a gzip, Brotli or Zstandard coding of them: a compressed payload is
    /// application/octet-stream over CoAP. In MQTT 5 it is application/gzip (RFC 6713) or application/zstd (RFC 8878); Brotli has no
    /// media type, and the property is left out.
    pub const fn from_batch(batch: Batch) -> Self {
        let (encoding, compression) = (batch.encoding, batch.compression);
        Self {
            content_type: encoding.media_type(),
            content_coding: compression.content_coding(),
            content_format: match compression {
                Compression::None => encoding.content_format(),
                Compression::Gzip | Compression::Brotli | Compression::Zstd => OCTET_STREAM,
            },
            mqtt_content_type: match compression {
                Compression::None => Some(encoding.media_type()),
                Compression::Gzip => Some("application/gzip"),
                Compression::Brotli => None,
                Compression::Zstd => Some("application/zstd"),
            },
        }
    }
}

impl Default for Media {
    fn default() -> Self {
        Self::BYTES
    }
}

/// A payload, and what a message says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Their type.
    pub media: Media,
}

impl Payload {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl From<&Self> for Payload {
    fn from(payload: &Self) -> Self {
        payload.clone()
    }
}

impl From<&Arc<[u8]>> for Payload {
    fn from(bytes: &Arc<[u8]>) -> Self {
        Self {
            bytes: Arc::clone(bytes),
            media: Media::BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use wirecost_readings::Encoding;

    use super::*;

    #[test]
    fn a_compressed_payload_has_no_content_format_of_its_own() {
        for encoding in Encoding::ALL {
            for compression in Compression::ALL {
                let media = Media::from_batch(Batch {
                    readings: 1,
                    encoding,
                    compression,
                });
                assert_eq!(media.content_type, encoding.media_type());
                let is_plain = compression == Compression::None;
                let format = if is_plain {
                    encoding.content_format()
                } else {
                    OCTET_STREAM
                };
                assert_eq!(media.content_format, format);
                assert_eq!(media.content_coding.is_none(), is_plain);
            }
        }
    }
}
