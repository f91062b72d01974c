//! Published claims as data, judged on results folders.
pub mod amount;
pub mod arithmetic;
pub mod bound;
pub mod claims;
pub mod evidence;
pub mod judge;
mod read;
pub mod reference;
pub mod verdict;
