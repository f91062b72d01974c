//! Reads a secret from the controlling terminal.

use crate::sys::terminal as calls;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

/// The character of Ctrl-C.
const INTERRUPT: u8 = 0x03;

/// Prompts for a line at the terminal without echo; `None` on Ctrl-C or at the end of the input. A process that is
/// killed meanwhile leaves the terminal without echo.
///
/// # Errors
/// There is no terminal, or the line is not UTF-8.
pub fn ask(prompt: &str) -> io::Result<Option<String>> {
    let mut terminal = calls::open().ok_or(io::ErrorKind::NotFound)?;
    write!(terminal, "{prompt}: ")?;
    let before = calls::hide(terminal.as_fd(), INTERRUPT)?;
    let line = line_of(&mut terminal);
    calls::restore(terminal.as_fd(), &before)?;
    writeln!(terminal)?;
    line
}

fn line_of(from: &mut impl Read) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte)? {
            0 => return Ok(None),
            _ if byte[0] == INTERRUPT => return Ok(None),
            _ if byte[0] == b'\n' => break,
            _ => line.push(byte[0]),
        }
    }
    let text = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_a_newline_and_nothing_with_ctrl_c() {
        let line = |mut text: &[u8]| line_of(&mut text).ok().flatten();
        assert_eq!(line(b"s3cret\nmore").as_deref(), Some("s3cret"));
        assert_eq!(line(b"\n").as_deref(), Some(""));
        assert_eq!(line(b"s3c\x03"), None);
        assert_eq!(line(b"s3cret"), None);
        assert!(line_of(&mut b"\xff\n".as_slice()).is_err());
    }
}
