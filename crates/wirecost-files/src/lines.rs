//! Lines of a file that may be longer than memory.

use std::io::{BufRead, BufReader, Read};

use crate::fault::FileFault;

/// The most bytes of a line, without its end.
pub const MOST: u64 = 64 << 10;

/// The lines of a source without their ends. Ends after the first fault.
#[derive(Debug)]
pub struct Lines<R> {
    source: BufReader<R>,
    line: u64,
    is_over: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of a source.
    pub fn new(source: R) -> Self {
        Self {
            source: BufReader::new(source),
            line: 0,
            is_over: false,
        }
    }

    fn read(&mut self) -> Result<Option<String>, FileFault> {
        let mut bytes = Vec::new();
        let line = self.line + 1;
        // The line, and its end.
        self.source
            .by_ref()
            .take(MOST + 2)
            .read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line = line;
        if bytes.ends_with(b"\n") {
            bytes.pop();
            bytes.pop_if(|last| *last == b'\r');
        }
        if bytes.len() as u64 > MOST {
            return Err(FileFault::LongLine { line, most: MOST });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            FileFault::NotText {
                line,
                column: at as u64 + 1,
                byte: error.as_bytes().get(at).copied().unwrap_or_default(),
            }
        })?;
        Ok(Some(text))
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Result<String, FileFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read().transpose();
        self.is_over = !matches!(read, Some(Ok(_)));
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let lines = Lines::new(bytes);
        lines
            .map(|line| line.unwrap_or_else(|fault| format!("fault: {fault}")))
            .collect()
    }

    #[test]
    fn lines_have_no_ends() {
        assert_eq!(lines(b"a\r\n\nb"), ["a", "", "b"]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_has_a_bound_and_is_text() {
        let most = vec![b'x'; MOST as usize];
        assert_eq!(lines(&[&most[..], b"\nb\n"].concat()).len(), 2);
        let longer = [b"a\n", &most[..], b"x"].concat();
        let fault = "fault: line 2 is longer than 64 KiB, the most for a line";
        assert_eq!(lines(&longer), ["a", fault]);
        let fault = "fault: line 2 is not text in UTF-8: byte 2 of the line is 0xe9";
        assert_eq!(lines(b"a\nb\xe9\nc"), ["a", fault]);
    }
}
