//! Lines of bytes that arrive in pieces.

/// A line is longer than allowed, or no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line that is no message")]
pub struct NotALine;

/// Bytes until their line is complete.
#[derive(Debug)]
pub struct LineBuffer {
    said: Vec<u8>,
    /// The bytes at the beginning that have no end of a line.
    searched: usize,
    /// The longest line, in bytes.
    pub most: usize,
}

impl LineBuffer {
    /// No bytes yet; lines of at most `most` bytes.
    pub const fn new(most: usize) -> Self {
        Self {
            said: Vec::new(),
            searched: 0,
            most,
        }
    }

    /// The bytes that wait, to which more are appended.
    pub const fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.said
    }

    /// The next complete line, without its end.
    ///
    /// # Errors
    /// It is too long, or no text. The buffer is of no more use.
    pub fn take(&mut self) -> Result<Option<String>, NotALine> {
        // What was searched before has no line end. To search it again with each read would take time by the square of the line's length.
        let new = self.said.get(self.searched..).unwrap_or_default();
        let end = new
            .iter()
            .position(|byte| *byte == b'\n')
            .map(|end| self.searched + end);
        let Some(end) = end else {
            self.searched = self.said.len();
            return if self.said.len() > self.most {
                Err(NotALine)
            } else {
                Ok(None)
            };
        };
        let rest = self.said.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.said, rest);
        line.pop();
        self.searched = 0;
        if line.len() > self.most {
            return Err(NotALine);
        }
        String::from_utf8(line).map(Some).map_err(|_| NotALine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_and_in_order() {
        let mut buffer = LineBuffer::new(5);
        buffer.bytes().extend(b"one\ntw");
        assert_eq!(buffer.take(), Ok(Some("one".into())));
        assert_eq!(buffer.take(), Ok(None));
        buffer.bytes().extend(b"o\n\nthree\n");
        for line in ["two", "", "three"] {
            assert_eq!(buffer.take(), Ok(Some(line.into())));
        }
        assert_eq!(buffer.take(), Ok(None));
    }

    #[test]
    fn a_long_line_and_bytes_that_are_no_text_are_refused() {
        let mut buffer = LineBuffer::new(5);
        buffer.bytes().extend(b"123456");
        assert_eq!(buffer.take(), Err(NotALine), "it need not end");
        let mut buffer = LineBuffer::new(5);
        buffer.bytes().extend(b"123456\n");
        assert_eq!(buffer.take(), Err(NotALine));
        let mut buffer = LineBuffer::new(5);
        buffer.bytes().extend(b"\xff\n");
        assert_eq!(buffer.take(), Err(NotALine));
    }
}
