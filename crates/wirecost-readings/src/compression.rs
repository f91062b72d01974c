//! Compression of a payload.

use std::io::Write;

wirecost_proto::named! {
    /// How a payload is compressed.
    ///
    /// Named as in files and flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Compression {
        /// Not at all.
        #[default]
        None => "none",
        /// Gzip (RFC 1952), level 6.
        Gzip => "gzip",
        /// Brotli (RFC 7932), quality 5, window of 4 MiB.
        Brotli => "brotli",
        /// Zstandard (RFC 8878), level 3, without a checksum.
        Zstd => "zstd",
    }
}

const GZIP_LEVEL: u32 = 6;
const BROTLI_QUALITY: u32 = 5;
/// The logarithm of the size of Brotli's window.
const BROTLI_WINDOW: u32 = 22;
const BROTLI_BUFFER_BYTES: usize = 4_096;
const ZSTD_LEVEL: i32 = 3;

impl Compression {
    /// Its name as a content coding of HTTP (RFC 9110, section 8.4.1; RFC 7932; RFC 8878); `None` without compression.
    pub const fn content_coding(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// `bytes` compressed.
    pub fn compressed(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::None => bytes,
            Self::Gzip => gzip(&bytes),
            Self::Brotli => brotli(&bytes),
            Self::Zstd => zstd(&bytes),
        }
    }
}

/// A gzip member without a name and without a time of modification.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::new(GZIP_LEVEL);
    let mut encoder = flate2::GzBuilder::new().mtime(0).write(Vec::new(), level);
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("a vector takes any bytes")
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder =
        brotli::CompressorWriter::new(&mut out, BROTLI_BUFFER_BYTES, BROTLI_QUALITY, BROTLI_WINDOW);
    encoder.write_all(bytes).expect("a vector takes any bytes");
    drop(encoder);
    out
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL).expect("zstd takes any bytes")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn compressed_bytes_decompress_to_what_they_were() {
        let text = b"temperature humidity temperature humidity ".repeat(20);
        for compression in Compression::ALL {
            let small = compression.compressed(text.clone());
            let mut out = Vec::new();
            match compression {
                Compression::None => out.clone_from(&small),
                Compression::Gzip => {
                    flate2::read::GzDecoder::new(&small[..])
                        .read_to_end(&mut out)
                        .expect("gzip");
                }
                Compression::Brotli => {
                    brotli::Decompressor::new(&small[..], 64)
                        .read_to_end(&mut out)
                        .expect("brotli");
                }
                Compression::Zstd => out = zstd::bulk::decompress(&small, 10_000).expect("zstd"),
            }
            assert_eq!(out, text, "{compression}");
            assert!(
                compression == Compression::None || small.len() * 5 < text.len(),
                "{compression}"
            );
        }
    }

    #[test]
    fn a_name_is_read_as_it_is_printed() {
        for compression in Compression::ALL {
            assert_eq!(compression.to_string().parse(), Ok(compression));
        }
        let error = "lz4".parse::<Compression>().expect_err("unknown").to_string();
        assert_eq!(
            error,
            "unknown value \"lz4\", expected one of none, gzip, brotli, zstd"
        );
    }
}
