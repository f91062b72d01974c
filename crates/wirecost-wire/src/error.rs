use core::net::IpAddr;

/// The error of a view that cannot read bytes, or of a packet that cannot be emitted.
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
    /// The first four bits are not a version of IP.
    #[error("IP version must be 4 or 6, got {got}")]
    Version {
        /// The version found.
        got: u8,
    },
    /// A length field is below the length of its own header.
    #[error("{field} must be at least {expected} bytes, got {got}")]
    LengthTooSmall {
        /// The field's name in its standard.
        field: &'static str,
        /// The smallest length allowed.
        expected: usize,
        /// The length found.
        got: usize,
    },
    /// A part that is too long for its length field or its place.
    #[error("{what} must be at most {expected} bytes, got {got}")]
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// The largest length allowed.
        expected: usize,
        /// The length asked for.
        got: usize,
    },
    /// A fragment whose offset its header cannot say: no multiple of 8 bytes, or an end above 65,535 bytes.
    #[error("a fragment must begin at a multiple of 8 B and end at 65535 B at most, got {got} B to {end} B")]
    FragmentOffset {
        /// Where it begins.
        got: usize,
        /// Where it ends.
        end: usize,
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
