//! The arguments of `wirecost object`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use wirecost_security::object::UnixTime;
use wirecost_security::object::time::NotATime;

/// `wirecost object`.
#[derive(Debug, Args)]
pub struct ObjectArguments {
    /// The command.
    #[command(subcommand)]
    pub command: ObjectCommand,
}

/// The commands for protected objects.
#[derive(Debug, Subcommand)]
pub enum ObjectCommand {
    /// Make a key: FILE.key, which only you can read, and FILE.pub to give to others
    Keygen(KeygenArguments),
    /// Seal files into one object, each file as a part
    Seal(SealArguments),
    /// Open a part of an object
    Open(OpenArguments),
    /// Show what an object reveals without a key: parts, participants, rules, sizes
    Inspect(InspectArguments),
}

/// The purpose of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyKind {
    /// Opens parts (X25519)
    X25519,
    /// Opens parts (P-256)
    P256,
    /// Signs objects (ES256)
    Sign,
}

/// `wirecost object keygen`.
#[derive(Debug, Args)]
pub struct KeygenArguments {
    /// Purpose of the key
    #[arg(value_enum)]
    pub kind: KeyKind,

    /// Name of the key's files, without .key and .pub
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Also write the result as JSON to FILE; - prints it instead
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost object seal`.
#[derive(Debug, Args)]
#[command(
    after_help = "Times are UTC: 2026-12-31T23:59:59Z, forever, or 2026-12-31 for the whole day.\n\
    Example: wirecost object seal --key me.key --to alice.pub --to bob.pub,part=0,until=2026-12-31 \\\n\
    \x20   --out reading.cose temperature.txt position.txt"
)]
pub struct SealArguments {
    /// Files to seal, one per part; - reads stdin
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,

    /// Your key, which signs the object
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,

    /// Public key of a participant who may open the parts, or only part N, and in which time; you can repeat this
    /// option
    #[arg(long, value_name = "FILE[,part=N][,from=TIME][,until=TIME]", required = true)]
    pub to: Vec<Grant>,

    /// File for the object; - writes to stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,

    /// Also write the object's sizes as JSON to FILE; - prints them
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost object open`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 opened, 1 output could not be written, 2 usage or not an object, 12 refused."
)]
pub struct OpenArguments {
    /// File of the object; - reads stdin
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,

    /// Your key
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,

    /// Public keys of the signers that you trust
    #[arg(long, value_name = "FILE", required = true)]
    pub signer: Vec<PathBuf>,

    /// Number of the part, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub part: usize,

    /// Check the rules for this time instead of now
    #[arg(long, value_name = "TIME")]
    pub at: Option<UnixTime>,

    /// File for the part's content; - writes to stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,

    /// Also write the result, or the reason of a refusal, as JSON to FILE; - prints it
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost object inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// File of the object; - reads stdin
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,

    /// Public keys of the signers that you trust, to check the signature
    #[arg(long, value_name = "FILE")]
    pub signer: Vec<PathBuf>,

    /// Also write the result as JSON to FILE; - prints it instead
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// A grant of `--to`: a public key's file, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The participant's public key.
    pub file: PathBuf,
    /// The part; `None` is every part.
    pub part: Option<usize>,
    /// The first second.
    pub from: UnixTime,
    /// The last second.
    pub until: UnixTime,
}

/// Why a text is not a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAGrant {
    /// The part is not a number.
    #[error("part={0} is not a part: write its number, counted from 0")]
    Part(String),
    /// The time is invalid.
    #[error(transparent)]
    Time(#[from] NotATime),
    /// The limit is unknown.
    #[error("unknown limit {0:?}; the limits are part=N, from=TIME, until=TIME")]
    Limit(String),
}

impl FromStr for Grant {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Self, NotAGrant> {
        let mut fields = text.split(',');
        let mut grant = Self {
            file: fields.next().unwrap_or_default().into(),
            part: None,
            from: UnixTime::MIN,
            until: UnixTime::MAX,
        };
        for field in fields {
            match field.split_once('=') {
                Some(("part", value)) => {
                    let part = value.parse().map_err(|_| NotAGrant::Part(value.to_owned()))?;
                    grant.part = Some(part);
                }
                Some(("from", value)) => grant.from = value.parse()?,
                // `until=2026-01-31` includes that day.
                Some(("until", value)) => grant.until = last_second(value)?,
                _ => return Err(NotAGrant::Limit(field.to_owned())),
            }
        }
        Ok(grant)
    }
}

/// The last second of a time, or of a day.
fn last_second(text: &str) -> Result<UnixTime, NotATime> {
    let time: UnixTime = text.parse()?;
    let is_date = time != UnixTime::MAX && !text.contains('T');
    Ok(if is_date { UnixTime(time.0 + 86_399) } else { time })
}
