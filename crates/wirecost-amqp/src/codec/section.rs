//! Tells the body of a message (section 3.2) from the rest: the content of a data, amqp-sequence or amqp-value section.
//!
//! A message may be split anywhere. The parser therefore takes header bytes one by one, and skips the content of a
//! section at once. Bytes that are not part of a section count as application bytes, not as payload.

use alloc::vec::Vec;

use wirecost_proto::{Buffer, Cause, Front, Layer, Phase};

use crate::codec::reader::{Width, width};
use crate::codec::writer::{described_list, push_variable_header};

const PROPERTIES: u8 = 0x73; // section 3.2.4
const DATA: u8 = 0x75; // section 3.2.6
const AMQP_SEQUENCE: u8 = 0x76; // section 3.2.7
const AMQP_VALUE: u8 = 0x77; // section 3.2.8
const BINARY8: u8 = 0xa0;

/// The position of the next byte in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The 0x00 that begins a described value.
    Begin,
    /// The descriptor's constructor.
    DescriptorCode,
    /// The size field of a descriptor that is a symbol.
    DescriptorSize { left: u8, size: u32 },
    /// The descriptor.
    Descriptor { left: u32, code: u64 },
    /// The section's constructor.
    Code { is_body: bool },
    /// The section's size field.
    Size { left: u8, size: u32, is_body: bool },
    /// The section's content.
    Content { left: u32, is_body: bool },
    /// Not a section.
    Opaque,
}

/// Follows the sections of a message across its parts and finds the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    step: Step,
    payload_bytes: u64,
    front: Front,
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            step: Step::Begin,
            payload_bytes: 0,
            front: Front::EMPTY,
        }
    }
}

impl Sections {
    /// The number of payload bytes so far.
    pub const fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// The first bytes of the payload.
    pub const fn front(&self) -> Front {
        self.front
    }

    /// Calls `run` for each run of bytes of one layer in the next part of the message.
    pub fn follow<'a>(&mut self, part: &'a [u8], mut run: impl FnMut(&'a [u8], Layer)) {
        let mut rest = part;
        while !rest.is_empty() {
            let (len, layer) = self.step(rest);
            let (taken, left) = rest.split_at(len.min(rest.len()));
            if layer == Layer::Payload {
                self.payload_bytes += taken.len() as u64;
                self.front.extend(taken);
            }
            run(taken, layer);
            rest = left;
        }
    }

    /// Appends the spans of the next part of a received message to `out`.
    pub fn cover(&mut self, part: &[u8], out: &mut Buffer) {
        self.follow(part, |run, layer| {
            out.cover(run.len(), layer, Phase::Message, Cause::Original)
        });
    }

    /// Appends the next part of a message to `out`, with its spans.
    pub fn push(&mut self, part: &[u8], out: &mut Buffer) {
        self.follow(part, |run, layer| {
            out.push(run, layer, Phase::Message, Cause::Original)
        });
    }

    /// The length and the layer of the run at the start of `rest`. The length is at least one.
    fn step(&mut self, rest: &[u8]) -> (usize, Layer) {
        match self.step {
            Step::Content { left, is_body } => {
                let taken = u32::try_from(rest.len()).unwrap_or(u32::MAX).min(left);
                self.content(left - taken, is_body);
                let layer = if is_body {
                    Layer::Payload
                } else {
                    Layer::Application
                };
                (taken as usize, layer)
            }
            Step::Opaque => (rest.len(), Layer::Application),
            _ => {
                self.header_byte(rest.first().copied().unwrap_or_default());
                (1, Layer::Application)
            }
        }
    }

    /// Takes one byte that precedes a section's content.
    fn header_byte(&mut self, byte: u8) {
        let code = |value: u64, byte: u8| (value << 8) | u64::from(byte);
        match self.step {
            Step::Begin if byte == 0 => self.step = Step::DescriptorCode,
            Step::DescriptorCode => self.descriptor_code(byte),
            Step::DescriptorSize { left, size } => {
                let size = (size << 8) | u32::from(byte);
                self.step = match (left, size) {
                    (0 | 1, 0) => Step::Opaque,
                    (0 | 1, _) => Step::Descriptor { left: size, code: 0 },
                    _ => Step::DescriptorSize { left: left - 1, size },
                };
            }
            Step::Descriptor { left, code: value } if left > 1 => {
                self.step = Step::Descriptor {
                    left: left - 1,
                    code: code(value, byte),
                };
            }
            Step::Descriptor { code: value, .. } => {
                let is_body = [DATA, AMQP_SEQUENCE, AMQP_VALUE]
                    .map(u64::from)
                    .contains(&code(value, byte));
                self.step = Step::Code { is_body };
            }
            Step::Code { is_body } => self.section_code(byte, is_body),
            Step::Size { left, size, is_body } => {
                let size = (size << 8) | u32::from(byte);
                match left {
                    0 | 1 => self.content(size, is_body),
                    _ => {
                        let left = left - 1;
                        self.step = Step::Size { left, size, is_body };
                    }
                }
            }
            Step::Begin | Step::Content { .. } | Step::Opaque => self.step = Step::Opaque,
        }
    }

    fn descriptor_code(&mut self, constructor: u8) {
        self.step = match width(constructor) {
            Some(Width::Fixed(bytes @ 1..)) => Step::Descriptor {
                left: bytes.into(),
                code: 0,
            },
            Some(Width::Variable(left)) => Step::DescriptorSize { left, size: 0 },
            _ => Step::Opaque,
        };
    }

    fn section_code(&mut self, constructor: u8, is_body: bool) {
        match width(constructor) {
            Some(Width::Fixed(bytes)) => self.content(bytes.into(), is_body),
            Some(Width::Variable(left)) => {
                self.step = Step::Size {
                    left,
                    size: 0,
                    is_body,
                };
            }
            None => self.step = Step::Opaque,
        }
    }

    fn content(&mut self, left: u32, is_body: bool) {
        self.step = match left {
            0 => Step::Begin,
            _ => Step::Content { left, is_body },
        };
    }
}

/// The start of a message with a body of `len` bytes: properties with a content type, and the header of the data
/// section.
pub(crate) fn message_head(content_type: &str, content_encoding: Option<&str>, len: usize) -> Vec<u8> {
    let mut head = Vec::new();
    described_list(&mut head, PROPERTIES, |list| {
        // message-id, user-id, to, subject, reply-to, correlation-id
        (0..6).for_each(|_| {
            list.null();
        });
        list.symbol(content_type);
        if let Some(encoding) = content_encoding {
            list.symbol(encoding);
        }
    });
    head.extend_from_slice(&[0x00, 0x53, DATA]);
    push_variable_header(&mut head, BINARY8, len);
    head
}
