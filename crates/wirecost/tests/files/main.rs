//! Files that a stranger has made, or put at the place of others: every command refuses them in one sentence, in bounded
//! time and memory, and writes through none of them.

#[path = "../common/mod.rs"]
mod common;

mod bounded;
mod inputs;
mod outputs;
mod runs;
mod shown;
