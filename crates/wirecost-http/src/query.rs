//! A reading in the query of a GET, as devices send it that can only fetch an address.

/// The name of the reading in a query of `name=value` pairs.
const NAME: &str = "reading=";

/// The path with the reading in its query, percent-encoded (RFC 3986, section 2.1).
pub(crate) fn with_reading(path: &str, reading: &[u8]) -> String {
    let mut text = String::with_capacity(path.len() + 1 + NAME.len() + 3 * reading.len());
    text.push_str(path);
    text.push(if path.contains('?') { '&' } else { '?' });
    text.push_str(NAME);
    for byte in reading {
        match byte {
            // RFC 3986, section 2.3: what need not be encoded anywhere.
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte))
            }
            _ => {
                text.push('%');
                text.extend(
                    [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
                );
            }
        }
    }
    text
}

/// A query from which no reading can be read: none of its pairs or several of them are the reading, or a percent sign is followed by
/// something else than two hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The reading in the query of a target; `None` without a query.
///
/// # Errors
/// There is a query, and no reading can be read from it.
pub(crate) fn reading_of(target: &str) -> Result<Option<Vec<u8>>, Unreadable> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    if query.is_empty() {
        return Ok(None);
    }
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix(NAME));
    match (values.next(), values.next()) {
        (Some(value), None) => percent_decoded(value).map(Some).ok_or(Unreadable),
        _ => Err(Unreadable),
    }
}

fn percent_decoded(value: &str) -> Option<Vec<u8>> {
    let mut bytes = value.bytes();
    let mut decoded = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    Some(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_stays_and_the_rest_is_encoded() {
        assert_eq!(with_reading("/test", b"68.5"), "/test?reading=68.5");
        assert_eq!(
            with_reading("/test?a=1", b"a b/\xff"),
            "/test?a=1&reading=a%20b%2F%FF"
        );
    }

    #[test]
    fn a_query_without_exactly_one_whole_reading_is_unreadable() {
        for target in [
            "/test?a=1",
            "/test?areading=1",
            "/test?reading",
            "/test?=68.5",
            "/test?reading=%",
            "/test?reading=%4",
            "/test?reading=%zz",
            "/test?reading=%+1",
            "/test?reading=1&reading=2",
            "/test?reading=1&reading=1",
        ] {
            assert_eq!(reading_of(target), Err(Unreadable), "{target}");
        }
        for target in ["/test", "/test?"] {
            assert_eq!(reading_of(target), Ok(None), "{target}");
        }
        assert_eq!(reading_of("/test?reading="), Ok(Some(Vec::new())));
        assert_eq!(reading_of("/test?a=1&reading=2&b"), Ok(Some(b"2".to_vec())));
    }

    proptest! {
        #[test]
        fn a_reading_comes_out_as_it_went_in(reading in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(reading_of(&with_reading("/test", &reading)), Ok(Some(reading)));
        }
    }
}
