//! Security contexts (RFC 8613 section 3), which both ends derive from a shared secret.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use aes::Aes128;
use ccm::aead::KeyInit;
use ccm::consts::{U8, U13};
use ccm::{Ccm, Key};
use hkdf::Hkdf;
use sha2::Sha256;

use super::nonce::{self, PartialIv};
use crate::short::ShortBytes;

/// The longest sender or recipient id in bytes (RFC 8613 section 3.3: the length of the nonce minus 6).
pub const MAX_ID_BYTES: usize = 7;
/// The longest ID context in bytes: the OSCORE option has at most 255 B.
pub const MAX_ID_CONTEXT_BYTES: usize = 240;
/// AES-CCM-16-64-128 in the COSE Algorithms registry (RFC 9053 section 4.2).
pub(super) const ALGORITHM: u8 = 10;
/// The length of a key in bytes.
const KEY_BYTES: usize = 16;
/// The length of a nonce and of the Common IV in bytes.
pub(super) const NONCE_BYTES: usize = 13;

/// A sender or recipient id.
pub(crate) type Id = ShortBytes<MAX_ID_BYTES>;

/// AES-CCM with 16 B keys, 8 B tags and 13 B nonces.
pub(super) type Cipher = Ccm<Aes128, U8, U13>;

/// The input of the key derivation. The other end has the two ids swapped.
#[derive(Clone, PartialEq, Eq)]
pub struct Parameters {
    /// The Master Secret.
    pub master_secret: Vec<u8>,
    /// The Master Salt; may be empty.
    pub master_salt: Vec<u8>,
    /// The ID Context, which distinguishes contexts with the same secret and ids. Requests carry it.
    pub id_context: Option<Vec<u8>>,
    /// This end's id, at most 7 bytes. Requests carry it as `kid`.
    pub sender_id: Vec<u8>,
    /// The peer's id, at most 7 bytes.
    pub recipient_id: Vec<u8>,
}

impl Parameters {
    /// The parameters of the other end.
    pub(crate) fn of_peer(&self) -> Self {
        Self {
            sender_id: self.recipient_id.clone(),
            recipient_id: self.sender_id.clone(),
            ..self.clone()
        }
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep the secret out of logs.
        f.debug_struct("Parameters")
            .field("id_context", &self.id_context)
            .field("sender_id", &self.sender_id)
            .field("recipient_id", &self.recipient_id)
            .finish_non_exhaustive()
    }
}

/// Why a context cannot be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// An id that is longer than 7 bytes.
    #[error("id must have at most {MAX_ID_BYTES} B, got {len} B")]
    IdTooLong {
        /// The length of the id in bytes.
        len: usize,
    },
    /// An ID context that is too long for the option.
    #[error("ID context must have at most {MAX_ID_CONTEXT_BYTES} B, got {len} B")]
    IdContextTooLong {
        /// The length of the ID context in bytes.
        len: usize,
    },
    /// Both ends have the same id, and so would use the same key (RFC 8613 section 3.3).
    #[error("sender and recipient must have different ids, got the same id twice")]
    SameId,
    /// A key of a length that the key derivation function cannot produce.
    #[error("key of {len} B cannot be derived")]
    KeyLength {
        /// The length of the key in bytes.
        len: usize,
    },
}

/// The role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that sends requests.
    Client,
    /// The end that answers them.
    Server,
}

/// One end's security context: keys, ids, and the first sequence number.
///
/// It is cheap to clone. A key must not be used twice with the same number, so give only one of the clones to a client
/// or server, or let the next one [start at](Self::starting_at) an unused number.
#[derive(Clone)]
pub struct Context {
    secrets: Arc<Secrets>,
    first: PartialIv,
}

struct Secrets {
    /// The input of the key derivation.
    parameters: Parameters,
    sender: End,
    recipient: End,
    common_iv: [u8; NONCE_BYTES],
}

/// The id and the key of one end.
pub(super) struct End {
    pub(super) id: Id,
    pub(super) key: [u8; KEY_BYTES],
    pub(super) cipher: Cipher,
}

impl Context {
    /// Derives the keys and the Common IV (RFC 8613 section 3.2.1).
    ///
    /// # Errors
    /// An id or the ID context is too long, or both ends have the same id.
    pub fn new(parameters: &Parameters) -> Result<Self, ContextError> {
        let len = parameters.id_context.as_ref().map_or(0, Vec::len);
        if len > MAX_ID_CONTEXT_BYTES {
            return Err(ContextError::IdContextTooLong { len });
        }
        if parameters.sender_id == parameters.recipient_id {
            return Err(ContextError::SameId);
        }
        let mut common_iv = [0; NONCE_BYTES];
        expand(parameters, &[], "IV", &mut common_iv)?;
        let secrets = Secrets {
            parameters: parameters.clone(),
            sender: End::derive(parameters, &parameters.sender_id)?,
            recipient: End::derive(parameters, &parameters.recipient_id)?,
            common_iv,
        };
        Ok(Self {
            secrets: Arc::new(secrets),
            first: PartialIv::ZERO,
        })
    }

    /// The context with the same secret and ids, and another ID context.
    pub(super) fn with_id_context(&self, id_context: &[u8]) -> Result<Self, ContextError> {
        Self::new(&Parameters {
            id_context: Some(id_context.to_vec()),
            ..self.secrets.parameters.clone()
        })
    }

    /// One end of the context between device number `device` and its server, for measurements. The contexts of all
    /// devices have the same secret, without salt and ID context. Every device id has 2 bytes, so that sizes do not
    /// depend on the number; the server's id is 0x01.
    ///
    /// # Errors
    /// There are none with these ids.
    pub fn lab(secret: &[u8], role: Role, device: u16) -> Result<Self, ContextError> {
        let client = Parameters {
            master_secret: secret.to_vec(),
            master_salt: Vec::new(),
            id_context: None,
            sender_id: device.to_be_bytes().to_vec(),
            recipient_id: [0x01].to_vec(),
        };
        match role {
            Role::Client => Self::new(&client),
            Role::Server => Self::new(&client.of_peer()),
        }
    }

    /// This context with `first` as the first number of its own messages. After a restart, use an unused number.
    pub fn starting_at(self, first: PartialIv) -> Self {
        Self { first, ..self }
    }

    /// This end's id.
    pub fn sender_id(&self) -> &[u8] {
        self.secrets.sender.id.bytes()
    }

    /// The peer's id.
    pub fn recipient_id(&self) -> &[u8] {
        self.secrets.recipient.id.bytes()
    }

    /// The ID Context.
    pub fn id_context(&self) -> Option<&[u8]> {
        self.secrets.parameters.id_context.as_deref()
    }

    pub(super) fn first(&self) -> PartialIv {
        self.first
    }

    pub(super) fn sender(&self) -> &End {
        &self.secrets.sender
    }

    pub(super) fn recipient(&self) -> &End {
        &self.secrets.recipient
    }

    /// The nonce of a message with this Partial IV from the sender `id`.
    pub(super) fn nonce(&self, id: &Id, partial_iv: PartialIv) -> [u8; NONCE_BYTES] {
        nonce::nonce(&self.secrets.common_iv, id, partial_iv)
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        let keys = |context: &Self| (context.secrets.sender.key, context.secrets.recipient.key);
        let ids = |context: &Self| (context.secrets.sender.id, context.secrets.recipient.id);
        let same = keys(self) == keys(other) && ids(self) == ids(other);
        same && self.id_context() == other.id_context() && self.first == other.first
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep keys out of logs.
        f.debug_struct("Context")
            .field("sender_id", &self.secrets.sender.id)
            .field("recipient_id", &self.secrets.recipient.id)
            .finish_non_exhaustive()
    }
}

impl End {
    fn derive(parameters: &Parameters, id: &[u8]) -> Result<Self, ContextError> {
        let len = id.len();
        let id = Id::new(id).ok_or(ContextError::IdTooLong { len })?;
        let mut key = [0; KEY_BYTES];
        expand(parameters, id.bytes(), "Key", &mut key)?;
        Ok(Self {
            id,
            key,
            cipher: Cipher::new(&Key::<Cipher>::from(key)),
        })
    }
}

/// Fills `out` by HKDF with the `info` of RFC 8613 section 3.2.1: [id, id_context, algorithm, type, length].
fn expand(parameters: &Parameters, id: &[u8], kind: &str, out: &mut [u8]) -> Result<(), ContextError> {
    let mut info = Vec::from([0x85]);
    push_bytes(id, &mut info);
    match &parameters.id_context {
        Some(id_context) => push_bytes(id_context, &mut info),
        None => info.push(0xf6),
    }
    info.extend_from_slice(&[ALGORITHM, 0x60 | kind.len() as u8]);
    info.extend_from_slice(kind.as_bytes());
    info.push(out.len() as u8);
    let len = out.len();
    Hkdf::<Sha256>::new(Some(&parameters.master_salt), &parameters.master_secret)
        .expand(&info, out)
        .map_err(|_| ContextError::KeyLength { len })
}

/// Appends a CBOR byte string of at most 255 B.
fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        len @ 0..=23 => out.push(0x40 | len as u8),
        len => out.extend_from_slice(&[0x58, len as u8]),
    }
    out.extend_from_slice(bytes);
}
