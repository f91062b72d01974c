//! `wirecost probe`: one message to a real server, explained step by step.

mod table;

use std::path::Path;
use std::process::ExitCode;

use wirecost_files::Input;
use wirecost_load::targets::server::system_store;
use wirecost_probe::options::{MqttVersion, TlsVersion, Trust};
use wirecost_probe::{self, FailureKind, Options, Probe, ProbeError};
use wirecost_security::certificate::{Identity, authorities_from_pem, certificates_to_pem};
use wirecost_stack::run_tag::RunTag;
use wirecost_stack::url::Family;

use crate::arguments::{self, ProbeArguments};
use crate::exit::{self, Failure};
use crate::{login, output, progress};

/// Runs the command.
pub fn run(arguments: &ProbeArguments) -> Result<ExitCode, Failure> {
    let why = "a capture is not text, and it holds secrets";
    output::refuse_stdout("--out", arguments.out.as_deref(), why)?;
    let why = "the table of the probe goes there";
    output::refuse_stdout("--save-chain", arguments.save_chain.as_deref(), why)?;
    let options = options(arguments)?;
    let what = format!("probing {}", options.url);
    let probe = progress::waiting(what, || wirecost_probe::run(&options)).map_err(|error| match error {
        ProbeError::Options(error) => Failure::usage(error),
        error => Failure::new(exit::INTERNAL, error),
    })?;
    let printed = output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&probe.report),
        || table::table(&probe.report),
    );
    // Also after a failure: the packets of a failed step are what one wants to see.
    write_capture(arguments, &probe)?;
    save_chain(arguments, &probe)?;
    // A closed pipe must not keep the files from being written.
    printed?;
    for warning in &probe.report.warnings {
        output::note(format_args!("warning: {warning}"));
    }
    match &probe.report.failure {
        None => Ok(ExitCode::from(exit::OK)),
        Some(failure) => Err(failed(failure)),
    }
}

fn failed(failure: &wirecost_probe::Failure) -> Failure {
    let code = match failure.kind {
        FailureKind::Unreachable => exit::UNREACHABLE,
        FailureKind::Refused => exit::REFUSED,
    };
    let message = format!(
        "{} failed after {}: {}",
        failure.step.name(),
        table::time(failure.after),
        failure.cause
    );
    let said = Failure::new(code, message);
    match &failure.hint {
        Some(hint) => said.with_hint(hint.clone()),
        None => said,
    }
}

/// The client identifier: the user's, or one of this probe alone, of four characters.
fn client_id(arguments: &ProbeArguments) -> Result<String, Failure> {
    match &arguments.client_id {
        Some(asked) => Ok(asked.clone()),
        None => Ok(format!("{}1", RunTag::draw().map_err(Failure::internal)?)),
    }
}

fn options(arguments: &ProbeArguments) -> Result<Options, Failure> {
    let url = arguments.url.clone();
    let size = usize::try_from(arguments.size.bytes());
    let size = size.map_err(|_| Failure::usage(format!("--size {} is too large", arguments.size)))?;
    let options = Options {
        // Printable, so that a subscriber that somebody watches shows what it is.
        payload: vec![b'x'; size],
        qos: arguments.qos,
        mqtt_version: match arguments.mqtt {
            arguments::MqttVersion::V311 => MqttVersion::V3_1_1,
            arguments::MqttVersion::V5 => MqttVersion::V5,
        },
        fetch: arguments.get,
        tls: arguments.tls_version.map(|version| match version {
            arguments::TlsVersion::V12 => TlsVersion::V12,
            arguments::TlsVersion::V13 => TlsVersion::V13,
        }),
        groups: arguments.group,
        cipher: arguments.cipher,
        trusted: trusted(arguments)?,
        identity: identity(arguments)?,
        psk: arguments.psk.clone(),
        connection_id: arguments.connection_id,
        login: login::login(&arguments.login, url.login.as_ref())?,
        client_id: client_id(arguments)?,
        timeout: arguments.timeout,
        start: arguments.start,
        family: match (arguments.ipv4, arguments.ipv6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        },
        keeps_keys: arguments.out.is_some() && !arguments.no_keys,
        tries_resumption: !arguments.no_resumption,
        ..Options::new(url)
    };
    options.check().map_err(Failure::usage)?;
    Ok(options)
}

fn identity(arguments: &ProbeArguments) -> Result<Option<Identity>, Failure> {
    let Some((certificate, key)) = arguments.cert.as_deref().zip(arguments.key.as_deref()) else {
        return Ok(None);
    };
    let identity = Identity::from_pem(&text(certificate)?, &text(key)?);
    let identity = identity.map_err(|error| {
        let (certificate, key) = (certificate.display(), key.display());
        Failure::usage(format_args!(
            "cannot use --cert {certificate} with --key {key}: {error}"
        ))
    });
    identity.map(Some)
}

fn trusted(arguments: &ProbeArguments) -> Result<Trust, Failure> {
    if arguments.insecure {
        return Ok(Trust::Anyone);
    }
    // No certificate is checked in either case: the system's list need not be there.
    if !arguments.url.scheme.is_secure() || arguments.psk.is_some() {
        return Ok(Trust::Authorities(Vec::new()));
    }
    let store = match arguments.cacert.as_deref() {
        Some(path) => path,
        None => system_store().ok_or_else(no_store)?,
    };
    let authorities = authorities_from_pem(&text(store)?);
    authorities
        .map(Trust::Authorities)
        .map_err(|error| Failure::usage(format!("{}: {error}", store.display())))
}

fn no_store() -> Failure {
    Failure::usage("this system has no list of CA certificates to trust").with_hint(
        "install ca-certificates, name a file with --cacert, or take any certificate with --insecure",
    )
}

fn text(path: &Path) -> Result<String, Failure> {
    let read = Input::Pem.text(path);
    read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// Writes the certificates of the server, which are public.
fn save_chain(arguments: &ProbeArguments, probe: &Probe) -> Result<(), Failure> {
    let Some(path) = arguments.save_chain.as_deref() else {
        return Ok(());
    };
    // An empty file would be taken for a chain that the server has sent.
    if probe.chain.is_empty() {
        output::note(format_args!(
            "warning: {} is not written: no certificate of the server was accepted; --insecure takes any",
            path.display()
        ));
        return Ok(());
    }
    let text = certificates_to_pem(&probe.chain).map_err(Failure::internal)?;
    let written = wirecost_files::output::write_named(path, text);
    written.map_err(|error| output::unwritable("--save-chain", path, &error))
}

fn write_capture(arguments: &ProbeArguments, probe: &Probe) -> Result<(), Failure> {
    let Some(path) = arguments.out.as_deref() else {
        return Ok(());
    };
    if !probe.report.captured {
        output::note(format_args!(
            "warning: {} is not written: no packet was seen",
            path.display()
        ));
        return Ok(());
    }
    let written = probe.write_capture(path);
    written.map_err(|error| output::unwritable("--out", path, &error.into()))
}
