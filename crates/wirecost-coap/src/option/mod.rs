//! Options: the registry, the delta encoding, and typed access to values.
//!
//! - `registry`: numbers, names, formats and lengths, and what a number's bits say
//! - `codec`: [`OptionsView`] over encoded options, [`Options`] that builds them in order
//! - `access`: what the values mean
//! - [`content_format`]: numbers of content formats

mod access;
mod codec;
pub mod content_format;
mod registry;
#[cfg(test)]
mod tests;

pub(crate) use codec::{Numbers, push_option, push_option_header, split_option};
pub use codec::{OptionError, OptionIter, OptionValue, Options, OptionsView, UintBytes};
pub use registry::{Definition, Format, OptionNumber};
