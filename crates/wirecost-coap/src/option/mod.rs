//! Options: the registry, the delta encoding, and typed access to values.
//!
//! - `registry`: numbers, names, formats and lengths of options
//! - `codec`: [`OptionsView`] over encoded options, [`Options`] to build them
//! - `access`: typed values
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
