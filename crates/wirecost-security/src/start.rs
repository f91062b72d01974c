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
            "unknown value \"warm\", expected one of cold, resumed, 0rtt"
        );
    }
}
