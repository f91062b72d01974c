//! prr
