//! The options of comparisons and loads, every default filled in.

pub mod compare;
pub mod load;
