//! Removes secrets from words of a command line.

/// The environment variable of the password. wirecost passes it to no other program.
pub const PASSWORD_VARIABLE: &str = "WIRECOST_PASSWORD";

/// Replaces a secret.
const HIDDEN: &str = "***";

/// A word of a command line with `***` for the passwords of the URLs in it.
pub fn without_passwords(word: &str) -> String {
    let (mut kept, mut rest) = (String::new(), word);
    while let Some((before, behind)) = rest.split_once("://") {
        let (authority, after) = behind.split_at(end_of_authority(behind));
        kept += &format!("{before}://{}", without_password(authority));
        rest = after;
    }
    kept + rest
}

/// The words of a wirecost command line, with `***` for the secrets of its options.
pub fn without_secrets(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut follows_option = false;
    let kept = words.map(|word| {
        if std::mem::replace(&mut follows_option, SECRET_OPTIONS.contains(&word.as_str())) {
            return hidden(&word);
        }
        match word.split_once('=') {
            // A scenario's values are set by their keys: login.password=...
            Some((option, value)) if SECRET_OPTIONS.contains(&option) || option.ends_with(".password") => {
                format!("{option}={}", hidden(value))
            }
            _ => without_passwords(&word),
        }
    });
    kept.collect()
}

/// Options whose values are secrets, or have one after a colon.
const SECRET_OPTIONS: [&str; 3] = ["--password", "--psk", "--oscore"];

/// A value that names the place of a secret is not a secret.
fn hidden(value: &str) -> String {
    match value == "-" || value.starts_with('@') {
        true => value.to_owned(),
        false => HIDDEN.to_owned(),
    }
}

/// The end of the authority at the start of `text` (RFC 3986, section 3.2). If another URL follows, the authority ends at the comma
/// before it.
fn end_of_authority(text: &str) -> usize {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    match authority.strip_suffix(':').filter(|_| rest.starts_with("//")) {
        Some(others) => others.rfind(',').unwrap_or(others.len()),
        None => end,
    }
}

/// RFC 3986, section 3.2.1: user information is before the host.
fn without_password(authority: &str) -> String {
    let login = authority.rsplit_once('@');
    match login.and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{user}:{HIDDEN}@{host}"),
        None => authority.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_not_kept() {
        let kept = without_passwords("mqtt://me:a:b@c@host:1883/t/a@b:c?q,mqtt://me@host,http://[::1]:80/");
        assert_eq!(
            kept,
            "mqtt://me:***@host:1883/t/a@b:c?q,mqtt://me@host,http://[::1]:80/"
        );
        assert_eq!(without_passwords("t/a@b:c"), "t/a@b:c");
        assert_eq!(without_passwords("a://b:c://d:e@f"), "a://b:c://d:***@f");
        // User information may contain a comma (RFC 3986, section 3.2.1).
        assert_eq!(
            without_passwords("-L=mqtt://me:a,b@host/t,mqtt://me:c,d,e@host,f"),
            "-L=mqtt://me:***@host/t,mqtt://me:***@host,f"
        );
    }

    #[test]
    fn secrets_of_options_are_not_kept() {
        let of = |line: &str| without_secrets(line.split(' ').map(str::to_owned)).join(" ");
        assert_eq!(
            of("load mqtt://h --user me --password s3cret -c 3 --password=s3cret"),
            "load mqtt://h --user me --password *** -c 3 --password=***"
        );
        assert_eq!(
            of("load --password - --psk @file --password-file f mqtt://a:b@h"),
            "load --password - --psk @file --password-file f mqtt://a:***@h"
        );
        assert_eq!(
            of("run a.yaml --set login.password=x"),
            "run a.yaml --set login.password=***"
        );
    }
}
