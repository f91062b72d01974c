//! What a run is asked to do, every default filled in.

pub mod compare;
pub mod load;
