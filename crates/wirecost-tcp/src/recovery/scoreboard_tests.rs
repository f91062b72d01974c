//! scoreboard
