//! rto
