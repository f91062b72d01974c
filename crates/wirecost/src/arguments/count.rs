//! Counts on the command line.

use wirecost_scenario::table::ValueError;

/// Reads a whole number of at least 1.
///
/// # Errors
/// It is none, or larger than `T` holds.
pub fn at_least_one<T: TryFrom<u64>>(text: &str) -> Result<T, ValueError> {
    let must_be = |range| ValueError::Range {
        range,
        got: text.to_owned(),
    };
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| must_be("a whole number of at least 1"))?;
    T::try_from(number).map_err(|_| must_be("smaller"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_whole_number_of_at_least_one() {
        assert_eq!(at_least_one::<u32>("150"), Ok(150));
        let refused = |text| at_least_one::<u32>(text).expect_err(text).to_string();
        for wrong in ["0", "-3", "1.5", "x", ""] {
            let expected = format!("must be a whole number of at least 1, got {wrong}");
            assert_eq!(refused(wrong), expected);
        }
        assert_eq!(refused("4294967296"), "must be smaller, got 4294967296");
    }
}
