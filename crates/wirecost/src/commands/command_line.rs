//! Commands as a person would type them.

use wirecost_stack::secret::without_secrets;

/// The command of this process, quoted for a shell where it must be. It is kept in the results, where no secret may be.
pub fn recorded() -> String {
    quoted(without_secrets(std::env::args().skip(1)).into_iter())
}

/// A command with these arguments, quoted for a shell where it must be.
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
    fn what_a_shell_would_change_is_quoted() {
        let command = quoted(["load", "a b", "it's", "x/%d", ""].map(String::from).into_iter());
        assert_eq!(command, r"wirecost load 'a b' 'it'\''s' x/%d ''");
    }
}
