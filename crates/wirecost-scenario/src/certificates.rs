//! Profiles of certificates: the sizes of the chains that public servers present, each with its source.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wirecost_files::Input;
use wirecost_proto::ByteSize;
use wirecost_security::certificate::{Chain, KeyKind, Sizes};
use wirecost_security::presented::presented;

use crate::catalog::{Catalog, built_in};
use crate::error::ScenarioError;
use crate::figure::{Figures, versioned};
use crate::node::{Node, Value};
use crate::table::{Table, ValueError, parsed, text};

/// The profiles that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 5] = built_in!(
    "certificates",
    "letsencrypt-ecdsa",
    "letsencrypt-rsa",
    "aws",
    "azure",
    "private-ca",
);

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "profile of certificates",
    files: &BUILT_IN,
    absent: &[],
};

const KEYS: [&str; 5] = ["wirecost_certificates", "title", "sources", "key", "certificates"];

/// The chain of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is.
    pub title: String,
    /// The certificates that are sent, the server's own first.
    pub certificates: Vec<SizedCertificate>,
    /// The key of the server, and the sizes.
    pub sizes: Sizes,
}

/// A certificate of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedCertificate {
    /// Whose it is.
    pub of: String,
    /// Its bytes in DER.
    pub bytes: usize,
    /// Whether its size has a source; if not, it is assumed.
    pub is_sourced: bool,
}

/// Reads a profile.
///
/// # Errors
/// It is no profile, or no such chain can be made; the error has the line.
pub fn read(file: &str) -> Result<Profile, ScenarioError> {
    let file = Node::parse(file)?;
    let table = versioned(&file, "certificate", "wirecost_certificates", &KEYS)?;
    let figures = Figures::new(&file)?;
    let key: KeyKind = table.required("key", parsed)?;
    let Some(Value::List(list)) = table.get("certificates").map(|node| &node.value) else {
        return Err(table
            .error("certificates", "a profile has a list of certificates")
            .with_hint(
                "write - {of: WHOSE, bytes: {value: 1000B, source: NAME}} for each, the server's own first",
            ));
    };
    let mut certificates = Vec::new();
    for node in list {
        let entry = Table::new(node, "certificates.", &["of", "bytes"])?;
        let bytes = figures.required(&entry, ("certificates.", "bytes"), parsed::<ByteSize>)?;
        certificates.push(SizedCertificate {
            of: entry.required("of", text)?,
            bytes: usize::try_from(bytes.value.bytes()).unwrap_or(usize::MAX),
            is_sourced: bytes.is_sourced,
        });
    }
    let bytes: Vec<usize> = certificates.iter().map(|certificate| certificate.bytes).collect();
    Ok(Profile {
        title: table.required("title", text)?,
        sizes: Sizes::new(key, &bytes).map_err(|error| table.error("certificates", error))?,
        certificates,
    })
}

/// What the text of a chain is.
enum Written<'a> {
    /// A chain that the text says by itself.
    Known(Chain),
    /// A file that has one.
    File(&'a Path),
}

/// The chain of a text: by number, by the name of a profile, by sizes, or as in a file, which is a PEM file or a profile.
///
/// # Errors
/// One sentence.
pub fn chain(text: &str) -> Result<Chain, String> {
    match written(text)? {
        Written::Known(chain) => Ok(chain),
        Written::File(path) => of_file(path).map_err(|error| format!("cannot use {text}: {error}")),
    }
}

/// The same of a text that others have sent: no file is opened.
///
/// # Errors
/// One sentence, also for the name of a file.
pub fn chain_without_files(text: &str) -> Result<Chain, String> {
    match written(text)? {
        Written::Known(chain) => Ok(chain),
        Written::File(_) => Err(format!(
            "cannot use {text}: no files can be read here; write the sizes of its certificates, as in p256:1000+699"
        )),
    }
}

/// Refuses the key `chain` of a scenario that may use no files where it names one, before the key is read.
///
/// # Errors
/// It names a file, or is no chain.
pub(crate) fn refuse_file(table: &Table<'_>, folder: Option<&Path>) -> Result<(), ScenarioError> {
    if folder.is_some() {
        return Ok(());
    }
    let without = |text: &str| chain_without_files(text).map_err(ValueError::Refused);
    table.one("chain", without).map(drop)
}

fn written(text: &str) -> Result<Written<'_>, String> {
    // Names of our own chains first: a file of that name in the working folder must not change what they mean.
    if let Some(chain) = Chain::NAMED.into_iter().find(|chain| chain.to_string() == text) {
        return Ok(Written::Known(chain));
    }
    let is_key = |(key, _): &(&str, &str)| key.parse::<KeyKind>().is_ok();
    // A path may have a colon as well: only a kind of key before it makes the text one of sizes.
    if text.split_once(':').filter(is_key).is_some() {
        return text.parse().map(|sizes| Written::Known(Chain::Sized(sizes)));
    }
    let own = "leaf, intermediate, cross-signed, raw-public-key";
    match CATALOG.find(text) {
        Ok(Some((name, file))) => {
            let profile = read(file).map_err(|error| error.to_string())?;
            Ok(Written::Known(Chain::Sized(profile.sizes.called(name))))
        }
        Ok(None) => Ok(Written::File(Path::new(text))),
        Err(unknown) => Err(format!(
            "{}; a chain is {own}, sizes as in p256:1000+699, a PEM file (./NAME.pem), or one of {}",
            unknown.sentence(),
            BUILT_IN.map(|(name, _)| name).join(", ")
        )),
    }
}

/// The profile of a public broker: that of HiveMQ Cloud, the smallest of those that are known.
const PUBLIC_BROKER: (&str, &str) = BUILT_IN[0];

/// The certificates of a public broker.
pub fn public_broker() -> Chain {
    let (name, file) = PUBLIC_BROKER;
    // A test reads every profile.
    read(file).map_or_else(
        |_| Chain::default(),
        |profile| Chain::Sized(profile.sizes.called(name)),
    )
}

/// The profile of a chain, if it is built in.
pub fn profile(chain: Chain) -> Option<Profile> {
    let name = chain.to_string();
    let (_, file) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
    read(file).ok()
}

/// The chain that a file has.
fn of_file(path: &Path) -> Result<Chain, String> {
    let file = Input::Pem.text(path).map_err(|error| error.to_string())?;
    if path.extension().is_some_and(|ending| ending == "yaml") {
        let profile = read(&file).map_err(|error| error.to_string())?;
        return Ok(Chain::Sized(profile.sizes));
    }
    presented(&file, today()).map(Chain::Sized)
}

/// The time since 1970-01-01 00:00 UTC.
#[expect(
    clippy::disallowed_methods,
    reason = "whether a certificate of a file has expired is a question of today, as whether the file is there"
)]
fn today() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_read_and_is_found_by_its_name() {
        assert_eq!(public_broker().to_string(), "letsencrypt-ecdsa");
        for (name, file) in BUILT_IN {
            let profile = read(file).unwrap_or_else(|error| panic!("{name}: {error}"));
            let chain = chain(name).expect(name);
            assert_eq!(chain, Chain::Sized(profile.sizes.called(name)));
            assert_eq!(chain.to_string(), name);
        }
    }

    #[test]
    fn a_certificate_whose_size_nobody_read_is_assumed() {
        let profile = read(BUILT_IN[2].1).expect("a profile");
        let sourced: Vec<bool> = profile.certificates.iter().map(|one| one.is_sourced).collect();
        assert_eq!(sourced, [false, true, true, false]);
        let bytes: usize = profile.certificates.iter().map(|one| one.bytes).sum();
        assert_eq!(bytes, 1_500 + 1_122 + 1_174 + 1_145);
    }

    #[test]
    fn a_chain_that_there_is_not_is_refused_in_one_sentence() {
        for (written, said) in [
            ("letsencrypt", "unknown profile of certificates \"letsencrypt\""),
            ("./nowhere.pem", "cannot use ./nowhere.pem"),
            ("p256:70000", "more than the"),
            ("p256:18446744073709551615+1000", "more than the"),
            ("rsa2048:200", "at least 870 B"),
        ] {
            let error = chain(written).expect_err(written);
            assert!(
                error.contains(said) && !error.contains('\n'),
                "{written}: {error}"
            );
        }
        let unsourced = BUILT_IN[0].1.replace("source: letsencrypt", "source: nobody");
        assert!(read(&unsourced).is_err());
    }
}
