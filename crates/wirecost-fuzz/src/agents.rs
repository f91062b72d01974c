//! Messages between the coordinator of a load and its agents, and join files.

use wirecost_load::parts::agents::join_file::JoinFile;
use wirecost_load::parts::agents::line::LineBuffer;
use wirecost_load::parts::agents::message::{FromAgent, ToAgent, to_line};

/// The longest line here.
const MOST: usize = 1_024;

/// A stride and a stream: lines do not depend on where the stream is cut, and no more than the limit is held. A line that is a
/// message is printed, and the print is the same message. A job that reads has shares or is refused. What reads as a join file
/// is printed, and the print reads as the same.
pub fn stream(bytes: &[u8]) -> bool {
    let Some((stride, stream)) = bytes.split_first() else {
        return false;
    };
    let whole = lines(stream, stream.len().max(1));
    assert_eq!(whole, lines(stream, usize::from(*stride).max(1)));
    let understood: Vec<bool> = whole.iter().map(|line| message(line)).collect();
    !understood.is_empty() && understood.into_iter().all(|is_message| is_message)
}

/// The lines of a stream that arrives in pieces of `stride` bytes.
fn lines(stream: &[u8], stride: usize) -> Vec<String> {
    let (mut buffer, mut lines) = (LineBuffer::new(MOST), Vec::new());
    for piece in stream.chunks(stride) {
        buffer.bytes().extend(piece);
        loop {
            match buffer.take() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                // Nothing that follows is read.
                Err(_) => return lines,
            }
        }
        assert!(buffer.bytes().len() <= MOST);
    }
    lines
}

fn message(line: &str) -> bool {
    if let Some(message) = FromAgent::from_line(line) {
        let printed = to_line(&message);
        let again = FromAgent::from_line(&printed).map(|again| to_line(&again));
        assert_eq!(again, Some(printed));
        return true;
    }
    if let Some(message) = ToAgent::from_line(line) {
        let printed = to_line(&message);
        let again = ToAgent::from_line(&printed).map(|again| to_line(&again));
        assert_eq!(again, Some(printed));
        if let ToAgent::Job { job, .. } = message {
            drop(job.into_shares());
        }
        return true;
    }
    let Ok(file) = JoinFile::read(line) else {
        return false;
    };
    assert_eq!(JoinFile::read(&file.to_text()), Ok(file));
    true
}
