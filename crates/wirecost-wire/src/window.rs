//! A moving window over a file: bytes are contiguous until they are taken, and a read does not allocate.

use alloc::vec::Vec;
use std::io::{self, Read};

/// The number of bytes of one read from the source.
const READ_BYTES: usize = 1 << 18;

/// A source with a buffer that grows with the bytes of the file, never with the value of a length field.
#[derive(Debug)]
pub(crate) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread bytes in the buffer.
    start: usize,
    end: usize,
}

impl<R: Read> Window<R> {
    pub(crate) const fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
        }
    }

    /// The next `count` bytes, fewer at the end of the file; they stay unread.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.read_more()? {}
        let end = self.end.min(self.start + count);
        Ok(&self.buffer[self.start..end])
    }

    /// The next `count` bytes, fewer at the end of the file; they are read then.
    pub(crate) fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let got = self.peek(count)?.len();
        let start = self.start;
        self.start += got;
        Ok(&self.buffer[start..start + got])
    }

    /// Reads once; false at the end of the file.
    fn read_more(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < self.end + READ_BYTES {
            self.buffer.resize(self.end + READ_BYTES, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(got) => {
                    self.end += got;
                    return Ok(got > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte per read.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            into[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn gives_bytes_in_order_however_they_arrive() {
        let mut window = Window::new(Slow(b"abcdefg"));
        assert_eq!(window.peek(2).unwrap(), b"ab");
        assert_eq!(window.take(3).unwrap(), b"abc");
        assert_eq!(window.take(3).unwrap(), b"def");
        assert_eq!(window.take(3).unwrap(), b"g");
        assert_eq!(window.take(3).unwrap(), b"");
    }

    #[test]
    fn a_wrong_length_reserves_no_memory() {
        let mut window = Window::new(&b"ab"[..]);
        assert_eq!(window.take(1 << 40).unwrap(), b"ab");
        assert!(window.buffer.len() <= 2 * READ_BYTES);
    }
}
