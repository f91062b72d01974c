//! Comparison of what a client sent with a secret.

use core::hint::black_box;

/// Whether `given` is the secret. The work depends on the length of `given` alone: neither how much of it is right nor whether
/// there is a secret to compare with (a user who is not known has none) shows in the time that it takes.
pub fn is_secret(expected: Option<&[u8]>, given: &[u8]) -> bool {
    // A user who is not known is compared with nothing, as long as what was given.
    let known = expected.unwrap_or_default();
    let mut difference = u8::from(expected.is_none()) | u8::from(known.len() != given.len());
    let mut places = known.iter().chain(core::iter::repeat(&0));
    for byte in given {
        let place = places.next().unwrap_or(&0);
        difference = black_box(difference | (byte ^ place));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_is_the_secret() {
        for (expected, given, is_same) in [
            (Some(&b"secret"[..]), &b"secret"[..], true),
            (Some(b"secret"), b"secreT", false),
            (Some(b"secret"), b"Secret", false),
            (Some(b"secret"), b"secre", false),
            (Some(b"secret"), b"secret0", false),
            (Some(b"secret"), b"secret\0", false),
            (Some(b"secret"), b"", false),
            (Some(b""), b"", true),
            (None, b"", false),
            (None, b"\0\0", false),
        ] {
            assert_eq!(is_secret(expected, given), is_same, "{expected:?} {given:?}");
        }
    }
}
