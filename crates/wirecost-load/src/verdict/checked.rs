//! Decides whether a load has results: why no device could connect.

use std::net::SocketAddr;

use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};

use crate::error::LoadError;
use crate::parts::outcome::{LoadOutcome, NoConnection, Obstacle};
use crate::targets::{certificate, scheme};

/// Fails if no device could connect.
pub(crate) fn check(
    options: &LoadOptions,
    address: SocketAddr,
    outcome: &LoadOutcome,
) -> Result<(), LoadError> {
    if let Some(why) = outcome.no_connection.clone() {
        let target = target_name(options, address);
        let error = LoadError::NoConnection { target, why };
        let is_relayed = options.link.is_some() && matches!(options.target, LoadTarget::Url(_));
        return Err(match is_relayed {
            // The link has ended, and the target with it. Its own namespace still reaches it.
            true => error,
            false => explained(options, address, error),
        });
    }
    match &outcome.failure {
        Some(failure) if outcome.phases.is_empty() => Err(failure.clone().into()),
        _ => Ok(()),
    }
}

/// The error with the cause that the target at `address` shows to one more connection, if no device could connect.
pub(crate) fn explained(options: &LoadOptions, address: SocketAddr, error: LoadError) -> LoadError {
    let LoadError::NoConnection { target, mut why } = error else {
        return error;
    };
    // A server that speaks another protocol or that is not trusted is running: it counts as a refusal.
    let refused = |reason, hint| NoConnection {
        obstacle: Obstacle::Server,
        reason,
        hint,
    };
    if why.obstacle == Obstacle::Machine {
        // The target was not asked.
        return LoadError::NoConnection { target, why };
    }
    if let Some(reason) = scheme::meant(options, address) {
        why = refused(reason, None);
    } else if let Some([reason, hint]) = scheme::otherwise(options, address) {
        why = refused(reason, Some(hint));
    } else if let Some([reason, hint]) = certificate::refused(options, address, &why.reason) {
        why = refused(reason, Some(hint));
    }
    // In virtual time the server is always there and speaks the protocol: only the link can be the cause.
    if options.engine == LoadEngine::Sim {
        let hint = "the link let no connection come about: lower its loss, or raise the connect time-out";
        why.hint = Some(hint.into());
    }
    LoadError::NoConnection { target, why }
}

fn target_name(options: &LoadOptions, address: SocketAddr) -> String {
    match &options.target {
        LoadTarget::Started(target) => format!("{target} on {address}"),
        found @ LoadTarget::Url(_) => found.to_string(),
    }
}
