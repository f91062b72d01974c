//! One direction of a relayed stream, without a socket of its own.

use std::io::{self, ErrorKind, Read, Write};

use super::TURN;

/// One direction: the bytes that are read and not yet written, and whether the end of the stream has passed.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// Read and not yet written.
    held: Vec<u8>,
    /// How many of the held bytes are written.
    written: usize,
    /// Whether the reading side has ended.
    has_ended: bool,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    /// Nothing can be read or written now.
    Waits,
    /// There may be more to read.
    GoesOn,
    /// Everything up to the end of the stream is written.
    Ended,
}

impl Pipe {
    /// Passes on what can be read, each read with a write of its own. While the writing side takes nothing, nothing more is
    /// read: the sender waits as it would for the receiver.
    ///
    /// # Errors
    /// A side is broken.
    pub(super) fn pump(
        &mut self,
        from: &mut impl Read,
        to: &mut impl Write,
        buffer: &mut [u8],
    ) -> io::Result<Pumped> {
        for _ in 0..TURN {
            if !self.flush(to)? {
                return Ok(Pumped::Waits);
            }
            if self.has_ended {
                return Ok(Pumped::Ended);
            }
            match from.read(buffer) {
                Ok(0) => self.has_ended = true,
                Ok(len) => self.pass(to, &buffer[..len])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Pumped::Waits),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Pumped::GoesOn)
    }

    /// Writes the held bytes. Returns whether none is left.
    fn flush(&mut self, to: &mut impl Write) -> io::Result<bool> {
        while self.written < self.held.len() {
            match to.write(&self.held[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.held.clear();
        self.written = 0;
        Ok(true)
    }

    /// Writes new bytes at once, and holds what the socket does not take.
    fn pass(&mut self, to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        let taken = match to.write(bytes) {
            Ok(taken) => taken,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return Err(error),
        };
        self.held.extend_from_slice(&bytes[taken..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one chunk per read; `None` blocks.
    struct Chunks(Vec<Option<&'static [u8]>>);

    impl Read for Chunks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Ok(0),
                false => {
                    let chunk = self.0.remove(0).ok_or(ErrorKind::WouldBlock)?;
                    buffer[..chunk.len()].copy_from_slice(chunk);
                    Ok(chunk.len())
                }
            }
        }
    }

    /// Takes at most `room` bytes, and keeps each write apart.
    struct Writes {
        room: usize,
        writes: Vec<Vec<u8>>,
    }

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let len = bytes.len().min(self.room);
            self.room -= len;
            self.writes.push(bytes[..len].to_vec());
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_read_is_one_write() {
        let mut from = Chunks(vec![Some(b"one"), Some(b"two"), None]);
        let mut to = Writes {
            room: 100,
            writes: Vec::new(),
        };
        let mut pipe = Pipe::default();
        let pumped = pipe.pump(&mut from, &mut to, &mut [0; 16]).expect("works");
        assert_eq!(pumped, Pumped::Waits);
        assert_eq!(to.writes, [b"one", b"two"]);
        let pumped = pipe.pump(&mut from, &mut to, &mut [0; 16]).expect("works");
        assert_eq!(pumped, Pumped::Ended);
    }

    #[test]
    fn nothing_is_read_while_nothing_can_be_written() {
        let mut from = Chunks(vec![Some(b"hello"), Some(b"world")]);
        let mut to = Writes {
            room: 2,
            writes: Vec::new(),
        };
        let mut pipe = Pipe::default();
        let mut pump = |to: &mut Writes| pipe.pump(&mut from, to, &mut [0; 16]).expect("works");
        assert_eq!(pump(&mut to), Pumped::Waits);
        assert_eq!(to.writes.concat(), b"he");
        to.room = 100;
        assert_eq!(pump(&mut to), Pumped::Ended);
        assert_eq!(to.writes.concat(), b"helloworld");
    }
}
