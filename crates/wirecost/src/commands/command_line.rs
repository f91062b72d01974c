//! Formats commands as a user would type them.

use wirecost_stack::secret::without_secrets;

/// The command of this process, quoted for a shell if necessary. The results keep it, so it contains no secrets.
pub fn recorded() -> String {
    quoted(without_secrets(std::env::args().skip(1)).into_iter())
}

/// A command with these arguments, quoted for a shell if necessary.
pub fn quoted(arguments: impl Iterator<Item = String>) -> String {
    let quote = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:%@".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    std::iter::once("wirecost".to_owned())
        .chain(arguments.map(quote))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_the_shell_are_quoted() {
        let command = quoted(["load", "a b", "it's", "x/%d", ""].map(String::from).into_iter());
        assert_eq!(command, r"wirecost load 'a b' 'it'\''s' x/%d ''");
    }
}
