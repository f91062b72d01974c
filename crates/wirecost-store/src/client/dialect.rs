//! What differs between databases on the client's side.

use std::fmt;

use wirecost_proto::{Buffer, Content};

use super::{Config, Failure, Refusal};
use crate::{Store, mariadb, postgres};

/// A row to insert.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) sender: &'a str,
    pub(crate) number: u64,
    pub(crate) content: &'a Content,
}

/// What a packet means for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Other packets follow.
    More,
    /// The insert is prepared.
    Ready,
    /// The answer to the oldest command in flight.
    Answer(Result<(), Refusal>),
}

/// One connection in the protocol of a database.
pub(crate) trait Dialect: fmt::Debug + Send {
    /// The length of the packet at the front of `bytes`; `None` while its header is incomplete.
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Failure>;

    /// Appends what the client sends first.
    fn greet(&mut self, out: &mut Vec<u8>);

    /// Handles a whole packet, and appends what the client sends in answer.
    fn receive(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure>;

    /// Whether the insert is prepared.
    fn is_ready(&self) -> bool;

    /// Appends an insert.
    fn insert(&mut self, row: &Row<'_>, out: &mut Buffer);

    /// Appends a statement without parameters and results.
    fn execute(&mut self, statement: &str, out: &mut Vec<u8>);

    /// Appends what the client sends last.
    fn bye(&self, out: &mut Vec<u8>);
}

pub(super) fn new(config: &Config) -> Box<dyn Dialect> {
    match config.store {
        Store::Postgres => Box::new(postgres::Session::new(config)),
        Store::Mariadb => Box::new(mariadb::Session::new(config)),
    }
}
