use core::net::IpAddr;

/// Why bytes are not what a view was asked to read, or why a packet cannot be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end before the part does.
    #[error("{what} cut short: expected at least {expected} B, got {got} B")]
    Truncated {
        /// The part that is cut short.
        what: &'static str,
        /// The bytes it needs.
        expected: usize,
        /// The bytes there are.
        got: usize,
    },
    /// The first four bits name no version of IP.
    #[error("IP version must be 4 or 6, got {got}")]
    Version {
        /// The version found.
        got: u8,
    },
    /// A length field is below what its own header takes.
    #[error("{field} must be at least {expected} bytes, got {got}")]
    LengthTooSmall {
        /// The field's name in its standard.
        field: &'static str,
        /// The smallest length allowed.
        expected: usize,
        /// The length found.
        got: usize,
    },
    /// A part that its length field or its place cannot hold.
    #[error("{what} must be at most {expected} bytes, got {got}")]
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// The largest length allowed.
        expected: usize,
        /// The length asked for.
        got: usize,
    },
    /// Source and destination of different versions of IP.
    #[error("source and destination must have the same IP version, got {from} and {to}")]
    MixedVersions {
        /// The source address.
        from: IpAddr,
        /// The destination address.
        to: IpAddr,
    },
}
