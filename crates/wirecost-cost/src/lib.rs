//! Placeholder front page; replaced by the crate's first commit.
