//! Passwords from the command line, a file, the environment, standard input or the terminal.
//!
//! Every user who runs `ps` can read a command line, even one that a program has overwritten, because they may have
//! read it before. So there is always another way.

use std::env::VarError;
use std::io::IsTerminal as _;
use std::path::Path;

use wirecost_files::Input;
use wirecost_files::lines::Lines;
use wirecost_live::terminal;
use wirecost_stack::secret::PASSWORD_VARIABLE;
use wirecost_stack::url::Login;

use crate::arguments::LoginArguments;
use crate::exit::{self, Failure};

/// The user of the options or the URL, with the password; `None` without a user.
pub fn login(asked: &LoginArguments, of_url: Option<&Login>) -> Result<Option<Login>, Failure> {
    let user = asked.user.as_ref().or(of_url.map(|login| &login.user));
    let Some(user) = user else {
        let is_given = asked.password.is_some() || asked.password_file.is_some();
        return match is_given {
            true => {
                Err(Failure::usage("a password is of no use without a user")
                    .with_hint("name one with --user"))
            }
            false => Ok(None),
        };
    };
    // The password in a URL belongs to the user in it, and not to one of --user.
    let of_url = of_url.filter(|login| asked.user.is_none() && !login.password.is_empty());
    let password = match (&asked.password, &asked.password_file, of_url) {
        // A password on the command line is read by everybody on the machine (ps); at the terminal by nobody.
        (Some(dash), _, _) if dash == "-" => typed(user)?,
        (Some(password), _, _) => password.clone(),
        (_, Some(file), _) => in_file(file)?,
        (_, _, Some(login)) => login.password.clone(),
        _ => in_environment()?.unwrap_or_default(),
    };
    Ok(Some(Login {
        user: user.clone(),
        password,
    }))
}

/// The password of a user without one: from the environment, or else from the terminal.
pub fn password_of(user: &str) -> Result<String, Failure> {
    match in_environment()? {
        Some(password) => Ok(password),
        None if std::io::stdin().is_terminal() => typed(user),
        None => Err(Failure::usage(format_args!(
            "--user {user}: expected NAME:PASSWORD, or @FILE with that in it"
        ))
        .with_hint(format!(
            "or put the password into {PASSWORD_VARIABLE}, or type it at a terminal"
        ))),
    }
}

fn in_environment() -> Result<Option<String>, Failure> {
    of_variable(PASSWORD_VARIABLE)
}

/// The text of a variable of the environment, if it is set.
pub fn of_variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::usage(format_args!("{name} is not text in UTF-8"))
            .with_hint("set it again, or give the text in a file")),
    }
}

fn in_file(path: &Path) -> Result<String, Failure> {
    let text = Input::Secret.text(path).map_err(|error| {
        Failure::usage(format_args!(
            "cannot read --password-file {}: {error}",
            path.display()
        ))
        .with_hint("give a file with the password in its first line")
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The password from a prompt without echo, or a line of standard input if that is not a terminal.
fn typed(user: &str) -> Result<String, Failure> {
    let unreadable = |error| {
        Failure::usage(format_args!("cannot ask for the password of {user}: {error}"))
            .with_hint("name a file with --password-file")
    };
    if std::io::stdin().is_terminal() {
        let answer = terminal::ask(&format!("Password of {user}")).map_err(unreadable)?;
        return answer
            .ok_or_else(|| Failure::new(exit::INTERRUPTED, "interrupted before the password was given"));
    }
    // In a script the password comes through a pipe, where a prompt would wait for nobody.
    let line = Lines::new(std::io::stdin()).next().transpose();
    Ok(line
        .map_err(|fault| unreadable(fault.into()))?
        .unwrap_or_default())
}
