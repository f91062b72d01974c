//! Real servers and the end of this process: they start in the right place, report that they are ready, and never
//! outlive it.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod real;
mod shells;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use wirecost_live::process::Launch;
use wirecost_live::process::folder::ServerFolder;
use wirecost_live::{EnvironmentError, Topology, TopologyConfig};

use common::{Case, User};

const PATIENCE: Duration = Duration::from_secs(20);
const ROLE: &str = "WIRECOST_TEST_ROLE";

fn main() -> ExitCode {
    let case = |name, needs, user, run| Case {
        name,
        needs,
        user,
        run,
    };
    common::main(&[
        case(
            "mosquitto_is_ready_and_stops",
            "root, mosquitto and openssl",
            User::Caller,
            real::run_mosquitto,
        ),
        case(
            "mosquitto_is_ready_and_stops_for_nobody",
            "root, mosquitto and openssl",
            User::Nobody,
            real::run_mosquitto,
        ),
        case(
            "caddy_is_ready_and_stops",
            "root, caddy and openssl",
            User::Caller,
            real::run_caddy,
        ),
        case(
            "caddy_is_ready_and_stops_for_nobody",
            "root, caddy and openssl",
            User::Nobody,
            real::run_caddy,
        ),
        case(
            "apache_is_ready_and_stops",
            "root and libapache2-mod-php",
            User::Caller,
            real::run_apache,
        ),
        case(
            "apache_is_ready_and_stops_for_nobody",
            "root and libapache2-mod-php",
            User::Nobody,
            real::run_apache,
        ),
        case(
            "rabbitmq_is_ready_and_stops",
            "root, rabbitmq-server and openssl",
            User::Caller,
            real::run_rabbitmq,
        ),
        case(
            "rabbitmq_is_ready_and_stops_for_nobody",
            "root, rabbitmq-server and openssl",
            User::Nobody,
            real::run_rabbitmq,
        ),
        case(
            "libcoap_is_ready_and_stops",
            "root, libcoap3-bin and openssl",
            User::Caller,
            real::run_libcoap,
        ),
        case(
            "libcoap_is_ready_and_stops_for_nobody",
            "root, libcoap3-bin and openssl",
            User::Nobody,
            real::run_libcoap,
        ),
        case(
            "a_server_that_dies_shows_its_last_words",
            "root",
            User::Caller,
            shells::dies_early,
        ),
        case(
            "a_server_that_never_answers_is_killed",
            "root",
            User::Caller,
            shells::never_ready,
        ),
        case(
            "a_program_that_cannot_run_is_an_error",
            "root",
            User::Caller,
            shells::cannot_run,
        ),
        case(
            "what_a_server_started_is_counted_and_ends_with_it",
            "root",
            User::Caller,
            shells::family,
        ),
        case(
            "a_server_starts_with_a_clean_slate",
            "root",
            User::Caller,
            shells::clean_slate,
        ),
        case(
            "a_server_of_root_is_another_user_that_gets_no_rights",
            "root",
            User::Caller,
            shells::is_another_user,
        ),
        case(
            "a_server_of_nobody_is_nobody_in_its_own_eyes_too",
            "root",
            User::Nobody,
            shells::is_nobody,
        ),
        case("nothing_survives_a_sigkill", "root", User::Caller, || {
            ends::leaves_nothing(libc::SIGKILL)
        }),
        case(
            "nothing_survives_a_sigkill_of_nobody",
            "root",
            User::Nobody,
            || ends::leaves_nothing(libc::SIGKILL),
        ),
        case(
            "a_server_sees_its_own_processes",
            "root",
            User::Caller,
            shells::own_processes,
        ),
        case(
            "a_server_of_nobody_sees_its_own_processes",
            "root",
            User::Nobody,
            shells::own_processes,
        ),
        case("nothing_survives_a_panic", "root", User::Caller, || {
            ends::leaves_nothing(0)
        }),
        case(
            "the_first_signal_sets_a_flag_and_the_second_ends_us",
            "",
            User::Caller,
            ends::interrupted,
        ),
    ])
}

fn create() -> Result<Topology, String> {
    Topology::create(&TopologyConfig::default()).map_err(|error| {
        assert!(error.is_privilege(), "{error}");
        error.to_string()
    })
}

fn installed(launch: Result<Launch, EnvironmentError>) -> Result<Launch, String> {
    launch.map_err(|error| {
        assert!(
            matches!(error, EnvironmentError::ServerNotFound { .. }),
            "{error}"
        );
        error.to_string()
    })
}

fn server_folder(home: &Path, name: &str) -> ServerFolder {
    ServerFolder::create(home, name).unwrap()
}
