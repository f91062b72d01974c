//! The arguments of `wirecost links`, `wirecost devices` and `wirecost tariffs`.

use std::path::PathBuf;

use clap::Args;

/// `wirecost tariffs`.
#[derive(Debug, Args)]
pub struct TariffsArguments {
    #[command(flatten)]
    pub catalog: CatalogArguments,

    /// Run the worked examples that the file contains: beside each usage line and sum of the provider's page what its rules give
    #[arg(long, requires = "name", conflicts_with = "out")]
    pub examples: bool,
}

/// `wirecost links`, `wirecost devices`, `wirecost tariffs`.
#[derive(Debug, Args)]
pub struct CatalogArguments {
    /// One to show in full: a name, in small or capital letters, or a file of your own
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,

    /// Write it to FILE, as a file of your own to start from
    #[arg(short, long, value_name = "FILE", requires = "name", conflicts_with = "json")]
    pub out: Option<PathBuf>,

    /// Also write what is shown, with the source of every figure, as JSON to FILE; - prints it instead
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
