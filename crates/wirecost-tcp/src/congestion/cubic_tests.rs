//! cubic
