//! Opens every file that the program reads or writes. A stranger may have made the file, so its kind is checked before
//! anything waits for it, its length before anything holds it, and its text before anything reads it.
//!
//! - [`input`]: files that the user or a results folder names: [`Input`] is a kind of file with its bound
//! - [`output`]: files that the program writes
//! - [`lines`]: lines of a file, each with a bound
//! - [`fault`]: why a file is refused
//! - [`system`]: files of the kernel
//!
//! `scripts/check-files` forbids the functions of the standard library that open a file everywhere else.

pub mod fault;
pub mod input;
pub mod lines;
pub mod output;
pub mod system;

pub use fault::FileFault;
pub use input::Input;
