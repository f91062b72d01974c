//! The content of SASL frames (section 5.3.3).

use alloc::vec::Vec;

use wirecost_proto::Buffer;

use crate::codec::frame::{FrameTooLarge, MIN_MAX_FRAME_SIZE, emit_frame};
use crate::codec::reader::{Array, mandatory};
use crate::codec::writer::described_list;
use crate::codec::{Attribution, FrameType, Malformed, Reader, Value};

/// The names of SASL mechanisms, received or to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanisms<'a> {
    /// One received name: a peer may leave out the array (section 1.4).
    One(&'a str),
    /// A received array of names.
    Encoded(Array<'a>),
    /// Names to be sent.
    Given(&'a [&'a str]),
}

impl Mechanisms<'_> {
    /// Whether `name` is one of the mechanisms.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(only) => *only == name,
            Self::Encoded(array) => array.symbols().any(|symbol| symbol == name),
            Self::Given(names) => names.contains(&name),
        }
    }
}

/// The content of a SASL frame. Challenge and response are missing: the supported mechanisms do not use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sasl<'a> {
    /// The server's mechanisms.
    Mechanisms(Mechanisms<'a>),
    /// The client's choice of a mechanism.
    Init {
        /// The mechanism.
        mechanism: &'a str,
        /// The initial response of the mechanism.
        initial_response: Option<&'a [u8]>,
    },
    /// The outcome code: 0 is success, 1 is a failed login, 2 to 4 are errors of the server.
    Outcome(u8),
}

/// The outcome code of success (section 5.3.3.6).
pub(crate) const SASL_OK: u8 = 0;
/// The outcome code of a failed login.
pub(crate) const SASL_AUTH: u8 = 1;

impl<'a> Sasl<'a> {
    /// Decodes the body of a SASL frame.
    ///
    /// # Errors
    /// The body has another type, or a field is malformed.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let (code, mut fields) = Reader::new(body).described_list()?;
        match code {
            0x40 => match fields.value()? {
                Value::Symbol(name) => Ok(Self::Mechanisms(Mechanisms::One(name))),
                Value::Array(array) => Ok(Self::Mechanisms(Mechanisms::Encoded(array))),
                _ => Err(Malformed::Missing("sasl-server-mechanisms")),
            },
            0x41 => Ok(Self::Init {
                mechanism: mandatory(fields.text("mechanism")?, "mechanism")?,
                initial_response: fields.binary("initial-response")?,
            }),
            0x44 => mandatory(fields.number("code")?, "code").map(Self::Outcome),
            other => Err(Malformed::DescribedType(other)),
        }
    }

    /// Appends a SASL frame to `out`.
    ///
    /// # Errors
    /// The frame is larger than a SASL frame may be (section 5.3.2). Nothing is appended.
    pub fn emit(&self, out: &mut Buffer) -> Result<(), FrameTooLarge> {
        emit_frame(
            Attribution::CONNECT,
            (FrameType::Sasl, 0),
            MIN_MAX_FRAME_SIZE as usize,
            out,
            |bytes| match *self {
                Self::Mechanisms(mechanisms) => write_mechanisms(mechanisms, bytes),
                Self::Init {
                    mechanism,
                    initial_response,
                } => described_list(bytes, 0x41, |list| {
                    list.symbol(mechanism).binary(initial_response);
                }),
                Self::Outcome(code) => described_list(bytes, 0x44, |list| {
                    list.ubyte(code);
                }),
            },
        )
    }

    /// The frame's name in the standard.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Mechanisms(_) => "sasl-mechanisms",
            Self::Init { .. } => "sasl-init",
            Self::Outcome(_) => "sasl-outcome",
        }
    }
}

fn write_mechanisms(mechanisms: Mechanisms<'_>, out: &mut Vec<u8>) {
    described_list(out, 0x40, |list| {
        match mechanisms {
            Mechanisms::One(name) => list.symbol(name),
            Mechanisms::Encoded(array) => list.symbols(array.symbols().collect::<Vec<_>>().iter().copied()),
            Mechanisms::Given(names) => list.symbols(names.iter().copied()),
        };
    });
}

/// The initial response of PLAIN (RFC 4616 section 2): empty authorization identity, user, password.
pub(crate) fn plain_response(user: &str, password: &str) -> Vec<u8> {
    [b"\0", user.as_bytes(), b"\0", password.as_bytes()].concat()
}

/// The user and the password in an initial response of PLAIN.
pub(crate) fn plain_credentials(response: &[u8]) -> Option<(&str, &str)> {
    let text = core::str::from_utf8(response).ok()?;
    let (_, credentials) = text.split_once('\0')?;
    credentials.split_once('\0')
}
