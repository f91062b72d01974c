//! Error conditions (section 2.8.14) and the states of a delivery (section 3.4).

use core::fmt;

use wirecost_proto::PeerText;

use crate::codec::Malformed;
use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;

/// Descriptor of `error`.
const ERROR: u64 = 0x1d;

/// An error to send: a condition of the standard or of another domain, and a text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition<'a> {
    /// The condition, such as `amqp:not-found`.
    pub name: &'a str,
    /// Details for people.
    pub description: Option<&'a str>,
}

impl<'a> Condition<'a> {
    /// A condition without a description.
    pub const fn new(name: &'a str) -> Self {
        Self {
            name,
            description: None,
        }
    }

    pub(crate) fn read(fields: &mut Fields<'a>, field: &'static str) -> Result<Option<Self>, Malformed> {
        let Some((code, mut error)) = fields.described(field)? else {
            return Ok(None);
        };
        if code != ERROR {
            return Err(Malformed::DescribedType(code));
        }
        Ok(Some(Self {
            name: mandatory(error.text("condition")?, "condition")?,
            description: error.text("description")?,
        }))
    }

    pub(crate) fn write(condition: Option<Self>, list: &mut ListWriter<'_>) {
        list.described(ERROR as u8, condition, |condition, list| {
            list.symbol(condition.name).string(condition.description);
        });
    }
}

/// An error that was received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OwnedCondition {
    /// The condition, such as `amqp:not-found`.
    pub name: PeerText,
    /// Details for people.
    pub description: Option<PeerText>,
}

impl fmt::Display for OwnedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.description {
            Some(description) => write!(f, "{}: {description}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl From<Condition<'_>> for OwnedCondition {
    fn from(condition: Condition<'_>) -> Self {
        Self {
            name: condition.name.into(),
            description: condition.description.map(PeerText::new),
        }
    }
}

/// The state or the outcome of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState<'a> {
    /// Not an outcome: the receiver has part of the message (section 3.4.1).
    Received,
    /// The receiver accepted the message (section 3.4.2).
    Accepted,
    /// The receiver found the message invalid (section 3.4.3).
    Rejected(Option<Condition<'a>>),
    /// The receiver did not and will not process the message (section 3.4.4).
    Released,
    /// Like `Released`, and the message is to be changed before it is sent again (section 3.4.5).
    Modified {
        /// Whether this counts as a failed delivery.
        delivery_failed: bool,
        /// Whether the message must not be sent to this receiver again.
        undeliverable_here: bool,
    },
    /// A state of another domain, such as transactions.
    Other(u64),
}

impl<'a> DeliveryState<'a> {
    /// Whether the state ends the delivery.
    pub(crate) const fn is_outcome(&self) -> bool {
        !matches!(self, Self::Received | Self::Other(_))
    }

    pub(crate) fn read(fields: &mut Fields<'a>) -> Result<Option<Self>, Malformed> {
        let Some((code, mut state)) = fields.described("state")? else {
            return Ok(None);
        };
        Ok(Some(match code {
            0x23 => Self::Received,
            0x24 => Self::Accepted,
            0x25 => Self::Rejected(Condition::read(&mut state, "error")?),
            0x26 => Self::Released,
            0x27 => Self::Modified {
                delivery_failed: state.boolean("delivery-failed")?.unwrap_or(false),
                undeliverable_here: state.boolean("undeliverable-here")?.unwrap_or(false),
            },
            other => Self::Other(other),
        }))
    }

    pub(crate) fn write(state: Option<Self>, list: &mut ListWriter<'_>) {
        let code = match state {
            Some(Self::Accepted) => 0x24,
            Some(Self::Rejected(_)) => 0x25,
            Some(Self::Released) => 0x26,
            Some(Self::Modified { .. }) => 0x27,
            // A state that is not an outcome is never sent.
            Some(Self::Received | Self::Other(_)) | None => {
                list.null();
                return;
            }
        };
        list.described(code, state, |state, list| match state {
            Self::Rejected(error) => Condition::write(error, list),
            Self::Modified {
                delivery_failed,
                undeliverable_here,
            } => {
                list.flag(delivery_failed).flag(undeliverable_here);
            }
            _ => {}
        });
    }
}
