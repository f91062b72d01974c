//! The request of one message, or the requests of a block-wise transfer (RFC 7959).
//!
//! 1. Whole: one request and one response, which may be the first block of a download.
//! 2. Upload: one request per block of the content (Block1). Each gets a 2.31, the last one the response.
//! 3. Download: one request per further block of the response (Block2).
//!
//! Only a whole request carries No-Response. Each block but the last needs a 2.31. The last block must have the same
//! options as the others: No-Response is unsafe to forward, so it is part of the cache-key (RFC 7252 section 5.4.2)
//! that servers use to match blocks. A server refuses a last block whose options differ.

use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::Content;
use wirecost_proto::bare::Transport;

use super::{Config, Failure, RequestTemplate};
use crate::block::{Block, BlockSize, Portion};
use crate::code::Code;
use crate::message::Repr;
use crate::option::OptionNumber;
use crate::oscore::ProtectError;

/// The number of times that a transfer may start over.
const MAX_RESTARTS: u8 = 3;

/// The purpose of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Request,
    /// A GET with Observe 0.
    Register,
    /// A GET with Observe 1.
    Deregister,
    /// Fetches the further blocks of a notification.
    Notification,
    /// Carries message_1 of EDHOC.
    Handshake,
}

/// The progress of a message from its first request to its whole response.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) template: Arc<RequestTemplate>,
    pub(super) purpose: Purpose,
    stage: Stage,
    restarts: u8,
    /// How much of a body one message carries.
    portion: Portion,
    /// Whether blocks may be BERT blocks (RFC 8323 section 6).
    allows_bert: bool,
    announces_size: bool,
    /// Whether the end of the content has been sent.
    is_sent: bool,
}

#[derive(Debug)]
enum Stage {
    Whole,
    Upload { offset: usize, size: BlockSize },
    Download(Download),
}

#[derive(Debug)]
struct Download {
    body: Vec<u8>,
    etag: Option<Vec<u8>>,
    size: BlockSize,
}

/// The next step of a transfer after a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send the next request.
    Continue,
    /// The body is complete.
    Done(Vec<u8>),
    /// The transfer ended without a response.
    Failed(Failure),
}

/// The numeric options that a stage adds to those of the template, in ascending order.
#[derive(Debug, Default)]
pub(super) struct StageOptions {
    observe: Option<u32>,
    block2: Option<Block>,
    block1: Option<Block>,
    size1: Option<u32>,
    blockwise: bool,
}

impl StageOptions {
    pub(super) fn iter(&self) -> impl Iterator<Item = (OptionNumber, u32)> {
        [
            (OptionNumber::OBSERVE, self.observe),
            (OptionNumber::BLOCK2, self.block2.map(Block::value)),
            (OptionNumber::BLOCK1, self.block1.map(Block::value)),
            (OptionNumber::SIZE1, self.size1),
        ]
        .into_iter()
        .filter_map(|(number, value)| Some((number, value?)))
    }

    /// Whether the stage's request includes this option of the template.
    pub(super) fn keeps(&self, number: OptionNumber) -> bool {
        let replaced = self.iter().any(|(own, _)| own == number);
        !(replaced || self.blockwise && number == OptionNumber::NO_RESPONSE)
    }
}

impl Transfer {
    /// A transfer of `template`; block-wise if the content exceeds the block size.
    pub(super) fn new(template: Arc<RequestTemplate>, purpose: Purpose, config: &Config) -> Self {
        let portion = Portion {
            whole: config.block_size,
            ..Portion::block(config.block_size)
        };
        let mut transfer = Self {
            template,
            purpose,
            stage: Stage::Whole,
            restarts: 0,
            portion,
            allows_bert: config.transport == Transport::Stream,
            announces_size: config.announces_size,
            is_sent: false,
        };
        transfer.fit(portion);
        transfer
    }

    /// Sets how much of the content one message carries, before the first request.
    pub(super) fn fit(&mut self, portion: Portion) {
        self.portion = portion;
        self.stage = match self.template.content.len() > portion.whole {
            true => Stage::Upload {
                offset: 0,
                size: portion.size,
            },
            false => Stage::Whole,
        };
    }

    /// Checks that every block can be numbered.
    ///
    /// # Errors
    /// The body has too many blocks of the size that both ends use.
    pub(super) fn check_blocks(&self) -> Result<(), ProtectError> {
        let (end, size) = match &self.stage {
            Stage::Whole => return Ok(()),
            Stage::Upload { size, .. } => (self.template.content.len().saturating_sub(1), *size),
            Stage::Download(download) => (download.body.len(), download.size),
        };
        let last = Block::at(end, false, size);
        last.map(drop).ok_or(ProtectError::Blocks {
            len: end.saturating_add(1),
        })
    }

    /// The options of the next request and its payload. [`Self::check_blocks`] comes first.
    pub(super) fn next_request(&self) -> (StageOptions, &[u8]) {
        let payload = self.template.content.bytes();
        let mut options = StageOptions::default();
        match &self.stage {
            Stage::Whole => {
                options.observe = match self.purpose {
                    Purpose::Register => Some(0),
                    Purpose::Deregister => Some(1),
                    Purpose::Request | Purpose::Notification | Purpose::Handshake => None,
                };
                (options, payload)
            }
            Stage::Upload { offset, size } => {
                let portion = self.portion.with(*size);
                let more = offset + portion.bytes() < payload.len();
                let block = Block::at(*offset, more, *size);
                options.block1 = block;
                let announced = *offset == 0 && self.announces_size;
                options.size1 = u32::try_from(payload.len()).ok().filter(|_| announced);
                options.blockwise = true;
                (
                    options,
                    block.map_or(payload, |block| block.slice(payload, portion.blocks)),
                )
            }
            Stage::Download(download) => {
                options.block2 = Block::at(download.body.len(), false, download.size);
                options.blockwise = true;
                (options, &[])
            }
        }
    }

    /// The content, and the offset of the next request's payload in it.
    pub(super) fn content(&self) -> (&Content, usize) {
        let offset = match &self.stage {
            Stage::Upload { offset, .. } => *offset,
            Stage::Whole | Stage::Download(_) => 0,
        };
        (&self.template.content, offset)
    }

    /// Whether further requests follow the current one.
    pub(super) fn is_intermediate(&self) -> bool {
        matches!(self.stage, Stage::Download(_)) || self.has_more_content()
    }

    /// Whether further blocks of the content follow the current request.
    pub(super) fn has_more_content(&self) -> bool {
        match &self.stage {
            Stage::Upload { offset, size } => {
                offset + self.portion.with(*size).bytes() < self.template.content.len()
            }
            Stage::Whole | Stage::Download(_) => false,
        }
    }

    /// Whether the current request is the first that carries the end of the content of a user's request.
    pub(super) fn take_sent(&mut self) -> bool {
        let ends = self.purpose == Purpose::Request && !self.has_more_content();
        ends && !core::mem::replace(&mut self.is_sent, true)
    }

    /// Whether only the first request was sent.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.stage, Stage::Whole)
    }

    /// Handles the response to the last request.
    pub(super) fn take_response(&mut self, response: &Repr<'_>, max_body: usize) -> Step {
        if self.is_reserved(response) {
            return Step::Failed(Failure::ReservedBlockSize);
        }
        match &mut self.stage {
            Stage::Whole => match requested_block_size(response) {
                Some(size) if self.template.content.len() > size.bytes() => self.upload_again(size, response),
                _ => self.begin_download(response, max_body),
            },
            Stage::Upload { offset, size } => {
                let (offset, size) = (*offset, *size);
                self.after_block(offset, size, response, max_body)
            }
            Stage::Download(_) => self.append(response, max_body),
        }
    }

    fn is_reserved(&self, response: &Repr<'_>) -> bool {
        !self.allows_bert && response.options.has_bert_block()
    }

    /// Continues after the response to a block of the upload.
    fn after_block(&mut self, offset: usize, size: BlockSize, response: &Repr<'_>, max_body: usize) -> Step {
        let next = offset + self.portion.with(size).bytes();
        let is_last = next >= self.template.content.len();
        match (response.code, response.options.block1()) {
            // RFC 7959 section 2.9.2: the server lost blocks, start over.
            (Code::REQUEST_ENTITY_INCOMPLETE, _) => self.upload_again(size, response),
            (Code::REQUEST_ENTITY_TOO_LARGE, _) => match requested_block_size(response) {
                Some(smaller) if smaller < size => self.upload_again(smaller, response),
                _ => self.begin_download(response, max_body),
            },
            (code, Some(block)) if code.is_success() && !is_last => {
                // RFC 7959 section 2.3: a smaller size in the response applies from the next block on.
                let size = size.min(block.size);
                self.stage = Stage::Upload { offset: next, size };
                Step::Continue
            }
            _ => self.begin_download(response, max_body),
        }
    }

    fn upload_again(&mut self, size: BlockSize, response: &Repr<'_>) -> Step {
        if self.restarts >= MAX_RESTARTS {
            return done(response);
        }
        self.restarts += 1;
        self.stage = Stage::Upload { offset: 0, size };
        Step::Continue
    }

    /// Handles a response that may be the first block of a download.
    pub(super) fn begin_download(&mut self, response: &Repr<'_>, max_body: usize) -> Step {
        if self.is_reserved(response) {
            return Step::Failed(Failure::ReservedBlockSize);
        }
        match response.options.block2() {
            Some(block) if block.more && block.number == 0 => {
                self.stage = Stage::Download(Download {
                    body: Vec::new(),
                    etag: None,
                    size: block.size,
                });
                self.append(response, max_body)
            }
            _ => done(response),
        }
    }

    fn append(&mut self, response: &Repr<'_>, max_body: usize) -> Step {
        let Stage::Download(download) = &mut self.stage else {
            return done(response);
        };
        let Some(block) = response.options.block2().filter(|_| response.code.is_success()) else {
            return done(response);
        };
        let etag = response.options.etag();
        // RFC 7959 section 2.4: do not combine blocks of different representations.
        if !download.body.is_empty() && download.etag.as_deref() != etag {
            return self.download_again();
        }
        if let Some(failure) = download.fault(block, response.payload.len(), max_body) {
            return Step::Failed(failure);
        }
        if download.body.is_empty() {
            download.etag = etag.map(<[u8]>::to_vec);
        }
        download.body.extend_from_slice(response.payload);
        download.size = download.size.min(block.size);
        match block.more {
            true => Step::Continue,
            false => Step::Done(core::mem::take(&mut download.body)),
        }
    }

    fn download_again(&mut self) -> Step {
        // To fetch the body of a POST again, the client would have to repeat the POST.
        let repeatable = self.template.content.is_empty();
        let Stage::Download(download) = &mut self.stage else {
            return Step::Failed(Failure::BodyChanged);
        };
        if self.restarts >= MAX_RESTARTS || !repeatable {
            return Step::Failed(Failure::BodyChanged);
        }
        self.restarts += 1;
        download.body.clear();
        download.etag = None;
        Step::Continue
    }
}

/// Ends a transfer with a complete response. A 2.31 is not one: it asks for the next block (RFC 7959 section 2.9.1).
fn done(response: &Repr<'_>) -> Step {
    match response.code {
        Code::CONTINUE => Step::Failed(Failure::UnexpectedContinue),
        _ => Step::Done(response.payload.to_vec()),
    }
}

impl Download {
    /// Why a block of `len` bytes cannot be appended.
    fn fault(&self, block: Block, len: usize, max_body: usize) -> Option<Failure> {
        let (got, expected) = (block.offset(), self.body.len());
        if got != expected || (block.more && !block.size.fits(len, true)) {
            return Some(Failure::UnexpectedBlock { got, expected });
        }
        (expected + len > max_body).then_some(Failure::BodyTooLarge { limit: max_body })
    }
}

/// The block size that a 4.13 response asks for (RFC 7959 section 2.9.3).
fn requested_block_size(response: &Repr<'_>) -> Option<BlockSize> {
    let block = response.options.block1()?;
    (response.code == Code::REQUEST_ENTITY_TOO_LARGE).then_some(block.size)
}
