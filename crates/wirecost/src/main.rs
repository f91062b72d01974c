//! The `wirecost` command line.
fn main() {}
