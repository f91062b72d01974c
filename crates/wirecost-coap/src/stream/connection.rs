//! What one end knows of a connection: the incomplete message, and what the peer accepts.

use super::signal::{BLOCK_WISE_TRANSFER, MAX_MESSAGE_SIZE};
use super::{BASE_MAX_MESSAGE_BYTES, Fault, Framer};
use crate::block::{BlockSize, Portion};
use crate::code::Code;
use crate::message::Repr;

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) framer: Framer,
    /// The largest message that the peer accepts, in bytes.
    max_message_bytes: u32,
    /// Whether the peer announced block-wise transfers.
    has_blocks: bool,
    has_csm: bool,
    /// Whether this end sent its CSM.
    pub(crate) has_greeted: bool,
    /// Whether the peer sent a Release.
    pub(crate) is_released: bool,
    /// Whether the driver holds many unsent bytes.
    pub(crate) is_congested: bool,
}

/// The meaning of a signaling message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// 7.01.
    Csm,
    /// 7.02.
    Ping,
    /// 7.03.
    Pong,
    /// 7.04.
    Release,
    /// 7.05.
    Abort,
    /// An unknown code.
    Unknown,
}

impl Connection {
    /// A connection on which nothing has arrived, to an end that accepts messages of `limit` bytes.
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            framer: Framer::new(limit),
            max_message_bytes: BASE_MAX_MESSAGE_BYTES,
            has_blocks: false,
            has_csm: false,
            has_greeted: false,
            is_released: false,
            is_congested: false,
        }
    }

    /// Checks that the first message is a CSM.
    pub(crate) fn admit(&self, code: Code) -> Result<(), Fault> {
        match self.has_csm || code == Code::CSM {
            true => Ok(()),
            false => Err(Fault::NoCsm { code }),
        }
    }

    /// Takes a signaling message. A CSM changes what the peer accepts.
    pub(crate) fn take_signal(&mut self, repr: &Repr<'_>) -> Result<Signal, Fault> {
        let code = repr.code;
        // All registered options of signaling messages are elective.
        if let Some(critical) = repr.options.iter().find(|option| option.number.is_critical()) {
            let number = critical.number;
            return Err(Fault::CriticalOption { code, number });
        }
        Ok(match code {
            Code::CSM => {
                self.take_csm(repr)?;
                Signal::Csm
            }
            Code::PING => Signal::Ping,
            Code::PONG => Signal::Pong,
            Code::RELEASE => {
                self.is_released = true;
                Signal::Release
            }
            Code::ABORT => Signal::Abort,
            _ => Signal::Unknown,
        })
    }

    fn take_csm(&mut self, csm: &Repr<'_>) -> Result<(), Fault> {
        for option in csm.options.iter() {
            let (number, len) = (option.number, option.value.len());
            let max = match number {
                MAX_MESSAGE_SIZE => 4,
                BLOCK_WISE_TRANSFER => 0,
                _ => continue,
            };
            if len > max {
                return Err(Fault::CsmOption { number, len, max });
            }
            match number {
                MAX_MESSAGE_SIZE => {
                    let bytes = option.uint().and_then(|bytes| u32::try_from(bytes).ok());
                    self.max_message_bytes = bytes.unwrap_or(u32::MAX);
                }
                _ => self.has_blocks = true,
            }
        }
        self.has_csm = true;
        Ok(())
    }

    /// Whether a message of `bytes` may be sent now, in one piece or block-wise: the peer's limit is known, or the message is
    /// below the base value.
    pub(crate) fn knows_limit_for(&self, bytes: usize) -> bool {
        self.has_csm || bytes <= BASE_MAX_MESSAGE_BYTES as usize
    }

    /// How much of a body one message to the peer carries if everything else has at most `overhead` bytes.
    pub(crate) fn portion(&self, overhead: usize) -> Portion {
        let max = usize::try_from(self.max_message_bytes).unwrap_or(usize::MAX);
        let room = max.saturating_sub(overhead);
        // RFC 8323 section 5.3.2: a larger message than the base value and block-wise transfers mean BERT.
        let has_bert = self.has_blocks && self.max_message_bytes > BASE_MAX_MESSAGE_BYTES;
        let unit = BlockSize::BERT.bytes();
        match has_bert && room >= unit {
            true => Portion {
                whole: room,
                size: BlockSize::BERT,
                blocks: room / unit,
            },
            false => Portion {
                whole: room,
                size: BlockSize::at_most(room),
                blocks: 1,
            },
        }
    }
}
