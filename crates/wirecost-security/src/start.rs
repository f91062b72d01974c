//! How a connection starts.

use std::str::FromStr;

wirecost_proto::named! {
    /// How a connection starts.
    ///
    /// Named as in results files and on the command line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Start {
        /// Keeps nothing from an earlier connection.
        #[default]
        Cold => "cold",
        /// Uses a session ticket or identifier of an earlier connection (RFC 8446 section 2.2, RFC 5077, RFC 5246 section
        /// 7.3).
        Resumed => "resumed",
        /// Resumes, and sends application data in the first flight, which an attacker can replay (RFC 8446 section 2.3).
        ZeroRtt => "0rtt",
    }
}

/// A text that is not the name of a start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown start {0:?}; connections start cold, resumed or 0rtt")]
pub struct UnknownStart(pub String);

impl FromStr for Start {
    type Err = UnknownStart;

    fn from_str(text: &str) -> Result<Self, UnknownStart> {
        let found = Self::by_name(text);
        found.ok_or_else(|| UnknownStart(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_parse_and_print() {
        for start in Start::ALL {
            assert_eq!(start.to_string().parse(), Ok(start));
        }
        let error = "warm".parse::<Start>().expect_err("no start");
        assert_eq!(
            error.to_string(),
            "unknown start \"warm\"; connections start cold, resumed or 0rtt"
        );
    }
}
