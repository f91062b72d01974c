//! Counts on the command line.

use wirecost_scenario::table::ValueError;

/// Reads a whole number of at least 1.
///
/// # Errors
/// It is none, or larger than `T` holds.
pub fn at_least_one<T: TryFrom<u64>>(text: &str) -> Result<T, ValueError> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| ValueError::form(text, "a whole number of at least 1, or is too large a one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_whole_number_of_at_least_one() {
        assert_eq!(at_least_one::<u32>("150"), Ok(150));
        for wrong in ["0", "-3", "1.5", "x", "", "4294967296"] {
            let refused = at_least_one::<u32>(wrong).expect_err(wrong).to_string();
            assert!(
                refused.contains("is not a whole number of at least 1"),
                "{refused}"
            );
        }
    }
}
