//! Published claims as data, judged on results folders.
//!
//! ```text
//! claims.yaml -> Claims      results folders -> Evidence
//!                    \        /
//!                     Judged: a verdict for every claim and every point
//! ```
//!
//! - [`claims`]: what a publication says, and which of our figures stands against it
//! - [`amount`]: numbers with units; [`arithmetic`]: expressions of them; [`bound`]: what physics allows
//! - [`mod@reference`]: the figure that a claim is about; [`evidence`]: its value in a results folder
//! - [`model`]: expressions of figures and of the powers of a device
//! - [`library`]: studies, compiled in or on disk; `selectors`: whether their figures are in their runs
//! - [`page`]: judged claims as HTML
//! - [`plot`]: the plots and tables of the publication, drawn from our figures
//! - [`diff`]: what changed between two results folders; [`gate`]: which figures, and how far they may move
//! - [`judge`]: the verdicts; [`verdict`]: their names; [`text`]: judged claims for a terminal
//!
//! Nothing here starts a run, opens a socket or reads a clock. No study is known by its name.

pub mod amount;
pub mod arithmetic;
pub mod bound;
pub mod claims;
pub mod diff;
pub mod evidence;
pub mod gate;
pub mod judge;
pub mod library;
pub mod model;
pub mod page;
pub mod plot;
mod read;
pub mod reference;
mod selectors;
mod strip;
pub mod text;
pub mod verdict;

pub use claims::Claims;
pub use evidence::Evidence;
pub use judge::Judged;
pub use verdict::Verdict;
