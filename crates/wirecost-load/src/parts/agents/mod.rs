//! Parts of a load on other machines.
//!
//! ```text
//! coordinator: Gathering -- JoinFile, by any way --> agent: run
//!     TLS 1.3, the coordinator's certificate by its hash; Join with a proof of the secret; Welcome
//!     Ask, Answer: four stamps, once a second and before each phase --> Offsets of the agent's clock
//! coordinator == Parts ==> ToAgent: Job, Part(ToPart) ==> Inbox of a part, a loop on a thread of the agent
//!             <== Parts == FromAgent: Part(FromPart)  <== messages of its parts
//! ```
//!
//! An agent runs what a worker process runs. Its parts count time on the coordinator's clock, so that intervals and stamps of
//! all agents mean the same instants. An agent that is lost does not end the load: the others go on, and the results say
//! what is missing.
//!
//! - [`offset`]: the offset between two clocks, and its bound
//! - [`message`]: the messages; [`line`](mod@line): lines of bytes; [`channel`]: lines over TLS
//! - [`join_file`]: what an agent needs
//! - [`agent`]: the side of an agent
//! - [`gathering`]: lets agents in; [`member`]: one agent as the coordinator sees it; [`hub`]: all of them
//! - [`report`]: what the results say about them

pub mod agent;
pub mod channel;
pub mod gathering;
pub mod hub;
pub mod join_file;
pub mod line;
pub mod member;
pub mod message;
pub mod offset;
pub mod report;

pub use gathering::{AgentsError, Gathering};
pub use hub::Agents;
