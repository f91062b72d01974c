//! Commands as a person would type them.

/// The command of this process, quoted for a shell where it must be. It is kept in the results, where no password may be.
pub fn recorded() -> String {
    quoted(
        std::env::args()
            .skip(1)
            .map(|argument| without_passwords(&argument)),
    )
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

/// An argument with `***` for the passwords of the URLs in it.
fn without_passwords(argument: &str) -> String {
    let parts: Vec<String> = argument.split(',').map(without_password).collect();
    parts.join(",")
}

/// RFC 3986, section 3.2.1: user information stands in front of the host.
fn without_password(url: &str) -> String {
    let login = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (login, host) = rest.split_at(end).0.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some((scheme, user, host, &rest[end..]))
    });
    match login {
        Some((scheme, user, host, resource)) => format!("{scheme}://{user}:***@{host}{resource}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        let command = quoted(["load", "a b", "it's", "x/%d", ""].map(String::from).into_iter());
        assert_eq!(command, r"wirecost load 'a b' 'it'\''s' x/%d ''");
    }

    #[test]
    fn passwords_of_urls_are_not_kept() {
        let kept = without_passwords("mqtt://me:a:b@c@host:1883/t/a@b:c?q,mqtt://me@host,http://[::1]:80/");
        assert_eq!(
            kept,
            "mqtt://me:***@host:1883/t/a@b:c?q,mqtt://me@host,http://[::1]:80/"
        );
        assert_eq!(without_passwords("t/a@b:c"), "t/a@b:c");
    }
}
