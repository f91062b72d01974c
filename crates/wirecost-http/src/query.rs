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

/// The reading in the query of a target, if there is one that is encoded as it should be.
pub(crate) fn reading_of(target: &str) -> Option<Vec<u8>> {
    let (_, query) = target.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix(NAME))?;
    let mut bytes = value.bytes();
    let mut reading = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        reading.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    Some(reading)
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
    fn a_query_without_a_whole_reading_has_none() {
        for target in [
            "/test",
            "/test?a=1",
            "/test?reading=%4",
            "/test?reading=%zz",
            "/test?areading=1",
        ] {
            assert_eq!(reading_of(target), None, "{target}");
        }
        assert_eq!(reading_of("/test?reading="), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn a_reading_comes_out_as_it_went_in(reading in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(reading_of(&with_reading("/test", &reading)), Some(reading));
        }
    }
}
