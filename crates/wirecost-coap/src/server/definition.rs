//! What resources are, before anyone asked anything of them.

use crate::code::Method;

/// What a resource is, before anyone asked anything of it.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) path: &'static str,
    /// Link attributes (RFC 6690 section 3).
    pub(super) attributes: &'static [(&'static str, &'static str)],
    pub(super) methods: &'static [Method],
    pub(super) behaviour: Behaviour,
    pub(super) initial: Initial,
    pub(super) format: u16,
    /// Whether notifications are confirmable, where the resource can be observed.
    pub(super) observable: Option<bool>,
    pub(super) access: Access,
    /// The entity-tag that is always shown; empty where it counts the changes.
    pub(super) etag: &'static [u8],
    /// Seconds for which a representation may be cached, where it says so.
    pub(super) max_age: Option<u32>,
}

/// Whether a request must be protected by OSCORE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Where the server says so.
    Either,
    /// Never.
    Open,
    /// Always.
    Protected,
}

/// How a resource departs from one that is stored by PUT and read by GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Store,
    /// Shows its entity-tag, and is text only.
    Validate,
    /// Answers with the arguments of the query.
    Query,
    /// A POST creates something with a Location-Query.
    LocationQuery,
    /// Answers by a separate response.
    Separate,
    /// A POST creates this resource; otherwise as stored.
    Create(&'static str),
    /// A POST is answered with its content in upper case.
    Uppercase,
    /// One representation per format.
    MultiFormat(&'static [(u16, &'static str)]),
    /// A POST makes the server forget the observers of this resource.
    ForgetObservers(&'static str),
    /// The list of resources.
    Core,
}

/// What a resource holds at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    Absent,
    Text(&'static str),
    /// This many bytes of text.
    Generated(usize),
    /// The number of changes in this many bytes of text.
    Ticks(usize),
    /// One text after the other, a change each; then the observation ends.
    Steps(&'static [&'static str]),
}
