//! Writes messages to the wire.

use std::io::Write;

use wirecost_proto::{Buffer, Cause, Content, Layer, Phase};

use crate::message::{Method, RequestTemplate, Response, Status};

/// The most bytes of content in one output, so that memory never holds large content twice.
const PIECE_BYTES: usize = 64 << 10;

/// The cause of a response's bytes. A 2xx without content only acknowledges the request.
pub(super) fn cause(status: Status, has_content: bool, method: Method) -> Cause {
    match status.is_success() && !has_content && method != Method::Head {
        true => Cause::Acknowledgement,
        false => Cause::Original,
    }
}

/// Appends the next part of a request after `sent` bytes of its content. Returns how much content is sent then.
pub(super) fn request(template: &RequestTemplate, close: bool, sent: usize, out: &mut Buffer) -> usize {
    if sent == 0 {
        push_head(out, Cause::Original, |head| {
            head.extend_from_slice(template.http1_head().as_bytes());
            if close {
                head.extend_from_slice(CLOSE);
            }
        });
    }
    push_content(template.content(), sent, out)
}

/// Appends the interim response that requests the content (RFC 9110 section 15.2.1).
pub(super) fn interim_continue(out: &mut Buffer) {
    push_head(out, Cause::Original, |head| {
        head.extend_from_slice(b"HTTP/1.1 100 Continue\r\n");
    });
}

const CLOSE: &[u8] = b"Connection: close\r\n";

/// Appends the next part of a response to `method` after `sent` bytes of its content. Returns how much content is
/// sent then.
///
/// There is no Date: RFC 9110 section 6.6.1 requires it only of servers with a clock.
pub(super) fn response(
    response: &Response,
    method: Method,
    close: bool,
    sent: usize,
    out: &mut Buffer,
) -> usize {
    let carried = response.content.as_ref().filter(|_| method != Method::Head);
    if sent == 0 {
        let has_content = carried.is_some_and(|content| !content.is_empty());
        let cause = cause(response.status, has_content, method);
        push_head(out, cause, |head| write_fields(response, close, head));
    }
    carried.map_or(0, |content| push_content(content, sent, out))
}

fn write_fields(response: &Response, close: bool, head: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = write!(head, "HTTP/1.1 {}\r\n", response.status);
    if let Some(methods) = response.allow {
        let _ = write!(head, "Allow: {methods}\r\n");
    }
    if let Some(text) = &response.content_type {
        let _ = write!(head, "Content-Type: {text}\r\n");
    }
    // RFC 9110 section 8.6: not with 1xx and 204.
    if !response.status.forbids_content() {
        let _ = write!(head, "Content-Length: {}\r\n", response.content_length());
    }
    if close {
        head.extend_from_slice(CLOSE);
    }
}

fn push_head(out: &mut Buffer, cause: Cause, write: impl FnOnce(&mut Vec<u8>)) {
    out.push_with(Layer::Application, Phase::Message, cause, |head| {
        write(head);
        head.extend_from_slice(b"\r\n");
    });
}

fn push_content(content: &Content, sent: usize, out: &mut Buffer) -> usize {
    let end = content.len().min(sent + PIECE_BYTES);
    content.push(sent..end, Phase::Message, Cause::Original, out);
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The length that a head says, and the bytes after it.
    fn said_and_sent(message: &[u8]) -> (Option<usize>, usize) {
        let end = message
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let head = std::str::from_utf8(&message[..end]).expect("text");
        let said = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        (
            said.map(|said| said.parse().expect("a number")),
            message.len() - end,
        )
    }

    proptest! {
        #[test]
        fn content_is_as_long_as_the_head_says(len in prop_oneof![0usize..100, 65_500usize..65_600, 131_000usize..131_100]) {
            let content: Content = vec![b'\n'; len].into();
            let template = RequestTemplate::new(Method::Put, "host", "/", Some("text/plain"), content);
            let template = template.expect("a request");
            let (mut out, mut sent) = (Buffer::new(), 0);
            loop {
                sent = request(&template, false, sent, &mut out);
                if sent == len {
                    break;
                }
            }
            prop_assert_eq!(said_and_sent(out.bytes()), (Some(len), len));
        }
    }
}
