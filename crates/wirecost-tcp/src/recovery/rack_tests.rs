//! rack
