//! The bytes that arrived on one direction of a flow, compared with the spans that their receiver reports.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{Buffer, Cause, Span};

/// The sender's spans of the bytes that have arrived and are not consumed.
#[derive(Default)]
pub(super) struct Arrived(VecDeque<Span>);

impl Arrived {
    /// Adds the sender's spans of bytes that arrive.
    pub(super) fn add(&mut self, spans: Vec<Span>, is_datagram: bool) {
        assert!(
            !is_datagram || self.0.is_empty(),
            "every datagram is consumed whole before the next one"
        );
        self.0.extend(spans);
    }

    /// Compares the receiver's spans with the sender's. A receiver cannot recognise a retransmission whose original was
    /// lost, so this cause is not compared.
    pub(super) fn consume(&mut self, out: &Buffer) {
        assert!(out.bytes().is_empty(), "Consumed carries spans only");
        for span in out.spans() {
            let mut left = span.len;
            while left > 0 {
                let made = self.0.front_mut().expect("no more is consumed than arrived");
                agree(span, made);
                let taken = left.min(made.len);
                left -= taken;
                made.len -= taken;
                if made.len == 0 {
                    self.0.pop_front();
                }
            }
        }
    }

    /// Bytes that the receiver has not described yet.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|span| u64::from(span.len)).sum()
    }
}

fn agree(heard: &Span, made: &Span) {
    assert_eq!(
        (heard.layer, heard.phase),
        (made.layer, made.phase),
        "both sides agree"
    );
    let resent = [heard.cause, made.cause].contains(&Cause::Retransmission);
    assert!(
        resent || heard.cause == made.cause,
        "both sides agree on the cause: {heard:?} {made:?}"
    );
}
