//! Lossy paths.
