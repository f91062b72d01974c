//! Arithmetic with published numbers: `5940 J / 2.4 uJ`, `ceil(10 kB / 1280 B) * 5 ms`.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::amount::{Amount, AmountError};

/// Why an expression cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// A number or a parenthesis is missing.
    #[error("{text:?}: a number is expected at column {column}")]
    Number {
        /// The expression.
        text: String,
        /// Where, from 1.
        column: usize,
    },
    /// A closing parenthesis is missing.
    #[error("{0:?}: a closing parenthesis is missing")]
    Parenthesis(String),
    /// Text behind the end of the expression.
    #[error("{text:?}: an operator is expected at column {column}")]
    Rest {
        /// The expression.
        text: String,
        /// Where, from 1.
        column: usize,
    },
    /// The amounts do not fit together.
    #[error("{text:?}: {source}")]
    Amount {
        /// The expression.
        text: String,
        /// Why.
        source: AmountError,
    },
    /// A closing bracket is missing.
    #[error("{0:?}: a closing bracket is missing")]
    Bracket(String),
    /// A name in brackets has no amount.
    #[error("{0}")]
    Name(String),
    /// It nests too deeply.
    #[error("{0:?}: more than {MAX_DEPTH} parentheses within one another")]
    Deep(String),
}

/// The most parentheses within one another.
const MAX_DEPTH: u32 = 32;

/// Computes an expression of numbers with units, `+ - * /`, parentheses and `ceil(...)`.
///
/// A unit follows its number; `72.2 Mbit/s` is one number with a compound unit, `5 J / 2 s` is a division.
///
/// # Errors
/// The expression cannot be read, or adds amounts of different units.
pub fn compute(text: &str) -> Result<Amount, ArithmeticError> {
    compute_with(text, &mut |term| {
        Err(format!("{term:?}: a name in brackets belongs into a model"))
    })
}

/// Computes an expression in which names in brackets stand for amounts: `[idle of raspberry-pi-2b-3g] / 5 V`.
///
/// # Errors
/// As [`compute`], or a name has no amount.
pub fn compute_with(
    text: &str,
    amount_of: &mut dyn FnMut(&str) -> Result<Amount, String>,
) -> Result<Amount, ArithmeticError> {
    let mut parser = Parser {
        text,
        rest: text.char_indices().peekable(),
        depth: 0,
        amount_of,
    };
    let amount = parser.sum()?;
    match parser.next_letter() {
        None => Ok(amount),
        Some((at, _)) => Err(ArithmeticError::Rest {
            text: text.to_owned(),
            column: at + 1,
        }),
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    depth: u32,
    amount_of: &'a mut dyn FnMut(&str) -> Result<Amount, String>,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Amount, ArithmeticError> {
        let mut amount = self.product()?;
        while let Some((_, sign @ ('+' | '-'))) = self.next_letter() {
            self.rest.next();
            let other = self.product()?;
            let sum = match sign {
                '+' => amount.plus(other),
                _ => amount.minus(other),
            };
            amount = sum.map_err(|source| self.amount_error(source))?;
        }
        Ok(amount)
    }

    fn product(&mut self) -> Result<Amount, ArithmeticError> {
        let mut amount = self.factor()?;
        // From left to right, so that a / b / c is (a / b) / c.
        while let Some((_, sign @ ('*' | '/'))) = self.next_letter() {
            self.rest.next();
            let other = self.factor()?;
            amount = match sign {
                '*' => amount * other,
                _ => amount / other,
            };
        }
        Ok(amount)
    }

    fn factor(&mut self) -> Result<Amount, ArithmeticError> {
        match self.next_letter() {
            Some((_, '(')) => self.parenthesis(),
            Some((at, 'c')) if self.text[at..].starts_with("ceil(") => {
                self.rest.nth(3);
                let amount = self.parenthesis()?;
                Ok(Amount::new(amount.value.ceil(), amount.dimension))
            }
            Some((at, '[')) => self.name(at + 1),
            Some((_, letter)) if letter.is_ascii_digit() => self.number(),
            other => Err(ArithmeticError::Number {
                text: self.text.to_owned(),
                column: other.map_or(self.text.len(), |(at, _)| at) + 1,
            }),
        }
    }

    fn parenthesis(&mut self) -> Result<Amount, ArithmeticError> {
        self.depth += 1;
        // The parser calls itself: a file of brackets would end the stack of the thread, which nothing can catch.
        if self.depth > MAX_DEPTH {
            return Err(ArithmeticError::Deep(self.text.to_owned()));
        }
        self.rest.next();
        let amount = self.sum()?;
        if !matches!(self.next_letter(), Some((_, ')'))) {
            return Err(ArithmeticError::Parenthesis(self.text.to_owned()));
        }
        self.rest.next();
        self.depth -= 1;
        Ok(amount)
    }

    /// The amount of a name in brackets, which begins here.
    fn name(&mut self, begin: usize) -> Result<Amount, ArithmeticError> {
        let end = self.text[begin..].find(']').map(|end| begin + end);
        let end = end.ok_or_else(|| ArithmeticError::Bracket(self.text.to_owned()))?;
        while self.rest.next_if(|(at, _)| *at <= end).is_some() {}
        (self.amount_of)(self.text[begin..end].trim()).map_err(ArithmeticError::Name)
    }

    fn number(&mut self) -> Result<Amount, ArithmeticError> {
        let digits = self.take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ','));
        let plain = digits.replace(',', "");
        let value = plain.parse::<f64>();
        let value = value.map_err(|_| self.amount_error(AmountError::Number(digits.to_owned())))?;
        self.next_letter();
        let mut end = self
            .take_while(|letter| letter.is_ascii_alphabetic() || letter == '%')
            .to_owned();
        while self.is_compound_unit() {
            self.rest.next();
            let part = self.take_while(|letter| letter.is_ascii_alphabetic());
            end = format!("{end}/{part}");
        }
        let unit = Amount::unit(&end).map_err(|source| self.amount_error(source))?;
        Ok(unit * value)
    }

    /// Whether a slash is followed at once by a letter: it is part of a unit.
    fn is_compound_unit(&mut self) -> bool {
        let Some((at, '/')) = self.rest.peek().copied() else {
            return false;
        };
        let after = self.text[at + 1..].chars().next();
        after.is_some_and(|letter| letter.is_ascii_alphabetic())
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let start = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        while self.rest.next_if(|(_, letter)| is_part(*letter)).is_some() {}
        let end = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        &self.text[start..end]
    }

    /// The next letter that is not a space.
    fn next_letter(&mut self) -> Option<(usize, char)> {
        while self.rest.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn amount_error(&self, source: AmountError) -> ArithmeticError {
        ArithmeticError::Amount {
            text: self.text.to_owned(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_usual_precedence() {
        for (text, result) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("12 / 2 / 3", "2"),
            ("ceil(10 kB / 1280 B) * 5 ms", "40 ms"),
            ("170 us * 150 mA * 3.3 V", "84.15 uJ"),
            ("500 mAh * 3.3 V", "5.94 kJ"),
            ("1 kB / 72.2 Mbit/s", "110.8 us"),
            ("15,474,263 B / 283,743 B", "54.54"),
            ("825000000 / 1/s", "9,549 d"),
            ("2000 mAh/9243", "0.2164 mAh"),
        ] {
            assert_eq!(compute(text).expect(text).to_string(), result, "{text}");
        }
    }

    #[test]
    fn errors_name_their_place() {
        for (text, expected) in [
            ("1 +", "\"1 +\": a number is expected at column 4"),
            ("(1 + 2", "\"(1 + 2\": a closing parenthesis is missing"),
            ("1 2", "\"1 2\": an operator is expected at column 3"),
            ("1 s + 1 B", "\"1 s + 1 B\": 1 s and 1 B have different units"),
            ("", "\"\": a number is expected at column 1"),
        ] {
            assert_eq!(compute(text).expect_err(text).to_string(), expected);
        }
        assert!(
            compute("3 parsec")
                .expect_err("a unit")
                .to_string()
                .contains("is not a unit")
        );
        let deep = "(".repeat(40);
        assert!(matches!(compute(&deep), Err(ArithmeticError::Deep(_))));
    }
}
