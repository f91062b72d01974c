//! The engine of a comparison.

wirecost_proto::named! {
    /// The engine of a comparison.
    ///
    /// Named as on the command line and in results files.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Engine {
        /// Virtual time first, then kernel sockets if the machine allows it.
        #[default]
        Auto => "auto",
        /// Virtual time.
        Sim => "sim",
        /// Kernel sockets over the emulated link.
        Live => "live",
    }
}

impl Engine {
    /// The engines of its cells, in the order in which they run.
    pub const fn of_cells(self) -> &'static [&'static str] {
        match self {
            Self::Auto => &["sim", "live"],
            Self::Sim => &["sim"],
            Self::Live => &["live"],
        }
    }

    /// Whether cells are run in virtual time.
    pub const fn simulates(self) -> bool {
        matches!(self, Self::Auto | Self::Sim)
    }

    /// Whether cells are run on kernel sockets.
    pub const fn goes_live(self) -> bool {
        matches!(self, Self::Auto | Self::Live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_read_as_it_is_written() {
        for engine in Engine::ALL {
            assert_eq!(engine.to_string().parse(), Ok(engine));
        }
        let error = "ns3".parse::<Engine>().expect_err("unknown").to_string();
        assert!(error.contains("auto, sim, live"), "{error}");
    }
}
