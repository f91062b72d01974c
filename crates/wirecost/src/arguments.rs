//! The command line. Quantities carry their units; lists are separated by commas.

mod agents;
mod battery;
mod budget;
mod catalog;
mod choose;
mod compare;
mod cost;
mod doors;
mod emulation;
mod fleet;
mod guesses;
mod help;
mod link;
mod load;
mod login;
mod nbiot;
mod network;
mod object;
mod probe;
mod readings;
mod refusal;
mod results;
mod rows;
mod run;
mod serve;
mod shape;
mod store;
mod study;
mod table;
mod ui;
mod what_if;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use agents::{AgentArguments, AgentsArguments, AgentsAsked};
pub use battery::BatteryArguments;
pub use budget::BudgetArguments;
pub use catalog::{CatalogArguments, TariffsArguments};
pub use choose::{By, ChooseArguments, Delivery, Reach, Security};
pub use compare::{CompareArguments, OutputArguments};
pub use cost::{CostArguments, SchemaArguments, SchemaKind};
pub use doors::topic;
pub use emulation::PacketPath;
pub use fleet::FleetArguments;
pub use help::headings;
pub use link::LinkRunArguments;
pub use load::{LoadArguments, LoadOutputArguments};
pub use login::LoginArguments;
pub use nbiot::NbiotArguments;
pub use network::NetworkArguments;
pub use object::{
    Grant, InspectArguments, KeyKind, KeygenArguments, ObjectArguments, ObjectCommand, OpenArguments,
    SealArguments,
};
pub use probe::{MqttVersion, ProbeArguments, TlsVersion};
pub use readings::{BatchArguments, ReadingsArguments};
pub use refusal::{of_flags, refusal};
pub use results::{MergeArguments, PcapArguments, ReportArguments};
pub use run::{NewArguments, NewKind, RunArguments};
pub use serve::{EdhocKeys, Protocol, ServeArguments};
pub use shape::ShapeArguments;
pub use store::StoreArguments;
pub use study::{ClaimsArguments, DiffArguments, StudyArguments};
pub use table::TableArguments;
pub use ui::UiArguments;
pub use what_if::WhatIfArguments;

/// What one IoT message costs, in bytes, time and CPU, over any protocol, on any link, with the capture to prove it
#[derive(Debug, Parser)]
#[command(
    name = "wirecost",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// Parses a command line whose first word is the program's name.
    ///
    /// # Errors
    /// The command line is invalid, or asks for help or the version.
    pub fn from_words(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let words = help_of(words.into_iter().map(Into::into).collect());
        let texts = || words.iter().map(|word| word.to_string_lossy().into_owned());
        let answered = |error| guesses::answered(known(error), &texts().collect::<Vec<_>>());
        let program = program_of(|name| words.iter().any(|word| word == name));
        let matches = program.try_get_matches_from(&words).map_err(answered)?;
        Self::from_arg_matches(&matches)
    }
}

/// `wirecost help COMMAND` as `wirecost COMMAND --help`, and `wirecost version` as `wirecost --version`; any other command line as
/// it is.
fn help_of(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.len() > 2 && words[1] == "help" {
        words.remove(1);
        words.push("--help".into());
    }
    if words.len() == 2 && words[1] == "version" {
        words[1] = "--version".into();
    }
    words
}

/// The whole command line, as help, completions and man pages show it.
pub fn program() -> clap::Command {
    program_of(|_| true)
}

/// The command line with the help of the commands whose names are asked for.
fn program_of(is_asked: impl Fn(&str) -> bool) -> clap::Command {
    help::arranged(Arguments::command(), is_asked)
}

/// The same command line without hidden commands, for completions and man pages.
pub fn shown_program() -> clap::Command {
    let program = program();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let root = clap::Command::new("wirecost")
        .about(program.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(program.get_arguments().cloned());
    root.subcommands(shown.cloned())
}

/// The same error, without hidden commands among its suggestions.
fn known(mut error: clap::Error) -> clap::Error {
    let kind = ContextKind::SuggestedSubcommand;
    let Some(ContextValue::Strings(meant)) = error.get(kind) else {
        return error;
    };
    let program = program();
    let is_shown = |name: &&String| {
        program
            .find_subcommand(name)
            .is_some_and(|found| !found.is_hide_set())
    };
    let shown: Vec<String> = meant.iter().filter(is_shown).cloned().collect();
    // An empty list would be printed as a tip without a word in it.
    if shown.is_empty() {
        error.remove(kind);
    } else {
        error.insert(kind, ContextValue::Strings(shown));
    }
    error
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare protocol stacks side by side on one emulated, recorded link
    Compare(Box<CompareArguments>),
    /// Run scenario files: matrices of stacks and links, phases of a load, or reports in NB-IoT cells, with thresholds
    Run(Box<RunArguments>),
    /// Write a commented scenario file to start from
    New(NewArguments),
    /// Print the JSON Schema of scenario, device or tariff files, for your editor, or of results
    Schema(SchemaArguments),
    /// Run any program behind an emulated, recorded link, with its server on the other side
    Link(Box<LinkRunArguments>),
    /// Load one target with many devices; response times count from when each message was due
    Load(Box<LoadArguments>),
    /// Send reports from devices in NB-IoT cells, in virtual time, under rising load
    Nbiot(Box<NbiotArguments>),
    /// Send one message to a real server: time each step, count its bytes by layer, show the server's answer
    Probe(Box<ProbeArguments>),
    /// Attribute the bytes of an existing capture to layers, phases and causes
    Pcap(PcapArguments),
    /// Model energy, battery life and the data plan's price of a capture or a comparison
    Cost(Box<CostArguments>),
    /// Rank the stacks that meet your requirements, by bytes, energy, money or time
    Choose(Box<ChooseArguments>),
    /// Send the readings of your own capture over other stacks, in virtual time, and compare bytes
    WhatIf(Box<WhatIfArguments>),
    /// Serve a page on this machine that answers what choose does, as you move its controls
    Ui(UiArguments),
    /// Rebuild the report of a results folder
    Report(ReportArguments),
    /// Run a built-in server on its own, for other clients or for a load from a second machine
    Serve(Box<ServeArguments>),
    /// Take messages from a broker into a database, and hold them while it is away
    Store(Box<StoreArguments>),
    /// Generate a share of a load whose coordinator is on another machine
    Agent(AgentArguments),
    /// Run the counting target of a load
    #[command(hide = true)]
    LoadTarget,
    /// Run some parts of a load
    #[command(hide = true)]
    LoadWorker,
    /// List the links with names, show one with the source of every figure, or write one to start from
    #[command(
        after_help = "--link NAME uses a link in compare, load, link, choose and what-if, as does `link: NAME` in a scenario; the \
        other options of the link replace single values of it. For a link of your own, begin with the file of another one:\n\n\
        wirecost links lte --out my.yaml\n\
        wirecost compare --link ./my.yaml --rtt 90ms"
    )]
    Links(CatalogArguments),
    /// List the devices with names, show one with the source of every figure, or write one to start from
    #[command(
        after_help = "--device NAME models the energy of a device in cost and choose. For a device of your own, begin with the file \
        of another one; each current counts at the supply's voltage, and a power may take its place. A figure without a source is \
        an assumed one:\n\n\
        wirecost devices nrf9160-lte-m --out mine.yaml\n\
        wirecost choose --size 64B --every 15min --link lte-m --device ./mine.yaml"
    )]
    Devices(CatalogArguments),
    /// List the tariffs with names, show one with the source of every figure, or write one to start from
    #[command(
        after_help = "--tariff NAME computes a data plan's price in cost and choose. The prices of most are examples: write your own \
        in a file, beginning with another one:\n\n\
        wirecost tariffs soracom --out mine.yaml\n\
        wirecost cost run --tariff ./mine.yaml --interval 15min\n\n\
        --examples checks a file against the worked examples of its provider's page.\n\n\
        Exit codes: 0 ok, 1 output could not be written, 2 usage, a wrong file, or no examples in it, 14 an example does not come out"
    )]
    Tariffs(TariffsArguments),
    /// Combine the results of several runs: shards, or several machines that loaded one target
    Merge(MergeArguments),
    /// Seal payloads into objects that carry their own protection; open and inspect them
    Object(ObjectArguments),
    /// Repeat a published study: make its runs, and judge what it says by what was measured
    Study(Box<StudyArguments>),
    /// Judge bytes, energy and money by a budget file, for a pull request, and name what moved them
    Budget(BudgetArguments),
    /// List what changed between two results folders, beyond its interval
    Diff(DiffArguments),
    /// Judge the claims of your own file on results folders
    Claims(ClaimsArguments),
    /// Test what this machine allows, and show how to get the rest
    Doctor(DoctorArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Print the man page of wirecost or of a command, or write all of them to a folder
    Man(ManArguments),
}

/// `wirecost completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "bash: wirecost completions bash > ~/.local/share/bash-completion/completions/wirecost\n\
    zsh:  wirecost completions zsh > DIR/_wirecost, where DIR is in $fpath\n\
    fish: wirecost completions fish > ~/.config/fish/completions/wirecost.fish"
)]
pub struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `wirecost man`.
#[derive(Debug, Args)]
#[command(after_help = "wirecost man load | man -l -")]
pub struct ManArguments {
    /// Command [default: wirecost itself]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,

    /// Write the pages of all commands to DIR
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// `wirecost doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print an AppArmor profile that allows wirecost to use user namespaces, instead of testing
    #[arg(long)]
    pub apparmor: bool,
}
