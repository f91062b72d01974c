//! hystart
