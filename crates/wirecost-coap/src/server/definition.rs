//! The static properties of resources.

use crate::code::Method;

/// The static properties of a resource.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) path: &'static str,
    /// Link attributes (RFC 6690 section 3).
    pub(super) attributes: &'static [(&'static str, &'static str)],
    pub(super) methods: &'static [Method],
    pub(super) behaviour: Behaviour,
    pub(super) initial: Initial,
    pub(super) format: u16,
    /// Whether the resource can be observed, and if so, whether its notifications are confirmable.
    pub(super) observable: Option<bool>,
    pub(super) access: Access,
    /// The constant entity-tag; if empty, the entity-tag is the number of changes.
    pub(super) etag: &'static [u8],
    /// The Max-Age of a representation in seconds, if it has one.
    pub(super) max_age: Option<u32>,
}

/// Whether a request must be protected by OSCORE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// As the server's configuration says.
    Either,
    /// Never.
    Open,
    /// Always.
    Protected,
}

/// How a resource differs from one that PUT stores and GET reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Store,
    /// Always returns its entity-tag, and accepts only text.
    Validate,
    /// Returns the arguments of the query.
    Query,
    /// A POST returns a Location-Query.
    LocationQuery,
    /// Sends a separate response.
    Separate,
    /// A POST creates this resource; the rest is as in `Store`.
    Create(&'static str),
    /// A POST returns its content in upper case.
    Uppercase,
    /// Has one representation per format.
    MultiFormat(&'static [(u16, &'static str)]),
    /// A POST makes the server forget the observers of this resource.
    ForgetObservers(&'static str),
    /// The list of resources.
    Core,
}

/// The initial content of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    Absent,
    Text(&'static str),
    /// This many bytes of text.
    Generated(usize),
    /// The number of changes, in this many bytes of text.
    Ticks(usize),
    /// One text after each change; the observation ends after the last one.
    Steps(&'static [&'static str]),
}
