//! A file of a ZIP as it is unpacked, by no more than a session is packed.

use std::io::{self, BufRead, Read};

use flate2::bufread::DeflateDecoder;

/// How many times as long as it is packed a file may be. Deflate reaches a thousand with bytes that are all equal; what is measured has noise.
const MOST_TIMES: u64 = 100;
/// Bytes that may be unpacked in any case: a short session of one current, made by a program.
const FREE: u64 = 32 << 20;

/// Unpacks a file. Without a bound, one of 20 MB would be read as 20 GB.
pub(super) struct Unpacked<R>(DeflateDecoder<R>);

impl<R: BufRead> Unpacked<R> {
    pub(super) fn new(source: R) -> Self {
        Self(DeflateDecoder::new(source))
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        let (packed, unpacked) = (self.0.total_in(), self.0.total_out());
        if unpacked > FREE && unpacked / MOST_TIMES > packed {
            let why = format!("a file in it is more than {MOST_TIMES} times as long as it is packed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    /// Packed zeros: a block that unpacks to a megabyte by itself, `megabytes` times.
    fn zeros(megabytes: usize) -> Vec<u8> {
        let mut compress = Compress::new(Compression::fast(), false);
        let mut block = Vec::with_capacity(1 << 16);
        let flush = FlushCompress::Full;
        compress
            .compress_vec(&vec![0; 1 << 20], &mut block, flush)
            .expect("a block");
        assert_eq!(compress.total_in(), 1 << 20);
        block.repeat(megabytes)
    }

    /// How much is unpacked before the end or the refusal.
    fn unpacked(packed: &[u8]) -> (u64, Option<String>) {
        let mut source = Unpacked::new(packed);
        let mut buffer = vec![0; 1 << 16];
        let mut all = 0;
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return (all, None),
                Ok(count) => all += count as u64,
                Err(error) => return (all, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn a_file_that_unpacks_to_far_more_than_a_session_is_refused() {
        let (read, why) = unpacked(&zeros(40));
        assert_eq!(
            why.as_deref(),
            Some("a file in it is more than 100 times as long as it is packed")
        );
        assert!((FREE - (1 << 16)..=FREE).contains(&read), "{read}");
    }

    #[test]
    fn a_file_of_noise_is_read_however_long_it_is() {
        // Blocks that are stored as they are, of 65,535 B (RFC 1951 section 3.2.4).
        let block = [&[0, 0xff, 0xff, 0, 0][..], &[7; 0xffff]].concat();
        let last = [1, 0, 0, 0xff, 0xff];
        let blocks = FREE / 0xffff + 2;
        let packed = [block.repeat(blocks as usize), last.to_vec()].concat();
        assert_eq!(unpacked(&packed), (blocks * 0xffff, None));
    }
}
