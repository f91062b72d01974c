//! How a connection starts.

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
        /// Agrees on a security context by EDHOC, each end by a reference to its credential (RFC 9528, RFC 9668).
        Edhoc => "edhoc",
        /// The same, each end by its whole credential.
        EdhocByValue => "edhoc-by-value",
    }
}

impl Start {
    /// Whether it needs what an earlier connection has left.
    pub const fn needs_earlier(self) -> bool {
        match self {
            Self::Resumed | Self::ZeroRtt => true,
            Self::Cold | Self::Edhoc | Self::EdhocByValue => false,
        }
    }

    /// Whether it is a handshake of EDHOC.
    pub const fn is_edhoc(self) -> bool {
        match self {
            Self::Edhoc | Self::EdhocByValue => true,
            Self::Cold | Self::Resumed | Self::ZeroRtt => false,
        }
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
            "unknown value \"warm\", expected one of cold, resumed, 0rtt, edhoc, edhoc-by-value"
        );
    }
}
