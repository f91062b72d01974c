//! Texts: quantities with their units, names of stacks, rows of `samples.csv`.

use std::fmt::Debug;
use std::str::FromStr;

use wirecost_proto::units::{DisplayDuration, parse_duration};
use wirecost_proto::{BitRate, ByteSize, Probability};
use wirecost_results::SampleRow;
use wirecost_results::columns::Row as _;
use wirecost_stack::Stack;

/// A quantity: what parses as one, printed, parses to the same. Returns whether it is one.
pub fn quantities(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let probability = text.parse::<Probability>().map(|probability| {
        let again: Probability = probability.to_string().parse().expect("what was printed parses");
        // It is printed in percent with 12 places.
        assert!((again.value() - probability.value()).abs() < 1e-14, "{text:?}");
    });
    let duration = parse_duration(text).map(|duration| {
        let printed = DisplayDuration(duration).to_string();
        assert_eq!(parse_duration(&printed), Ok(duration), "{text:?} as {printed}");
    });
    is_the_same_printed::<ByteSize>(text)
        || is_the_same_printed::<BitRate>(text)
        || probability.is_ok()
        || duration.is_ok()
}

/// A stack's name or a row of samples: what parses, printed, parses to the same. Returns whether it is one of them.
pub fn names_and_rows(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let row = SampleRow::from_line(text).map(|row| assert_eq!(SampleRow::from_line(&row.line()), Some(row)));
    is_the_same_printed::<Stack>(text) || row.is_some()
}

fn is_the_same_printed<T: FromStr<Err: ToString> + ToString + PartialEq + Debug>(text: &str) -> bool {
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(value.to_string().parse::<T>().ok(), Some(value), "{text:?}");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
