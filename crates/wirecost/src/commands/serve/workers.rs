//! A server of several processes on one port, for more connections than one process may open files for.
//!
//! Each process is a separate server: the kernel assigns connections to them at random. Workers run with the command
//! line of the first process. They receive its generated values and its prompts' answers on their standard input, and
//! end with it.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wirecost_live::environment::free_files;
use wirecost_live::limits::Limits;
use wirecost_live::process::worker::Worker;
use wirecost_load::targets::sink::{own_program, processes_for};
use wirecost_proto::bare::Transport;
use wirecost_security::certificate::Identity;
use wirecost_stack::{Application, Stack};

use crate::arguments::ServeArguments;
use crate::exit::{self, Failure};

/// How long a worker may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(10);
const READY: &str = "ready";

/// How many processes hold the expected connections.
pub(super) fn needed(arguments: &ServeArguments, stack: Stack) -> Result<u32, Failure> {
    let Some(connections) = arguments.connections else {
        return Ok(1);
    };
    // All peers of a datagram service share its socket.
    if stack.transport() == Transport::Datagram {
        return Ok(1);
    }
    let limits = Limits::read().map_err(Failure::internal)?;
    let free = free_files().map_err(Failure::internal)?;
    // With no socket for each process, further processes do not help however many files are free.
    let reachable = if limits.sockets_per_process == 0 { 0 } else { free };
    if u64::from(connections) > reachable {
        let message = format_args!(
            "{} as many open files, and {reachable} are possible (hard limit {}, {free} \
            left on this machine)",
            match connections {
                1 => "1 connection needs".to_owned(),
                _ => format!("{connections} connections need"),
            },
            limits.open_files
        );
        let hint =
            "raise the hard limit on open files (ulimit -Hn) or fs.file-max, or ask for fewer connections";
        return Err(Failure::new(exit::PRIVILEGE, message).with_hint(hint));
    }
    Ok(processes_for(connections, limits.sockets_per_process))
}

/// The state that the processes do not share, in a sentence.
pub(super) fn note(count: u32, stack: Stack) -> String {
    let kept = match stack.application {
        Application::Mqtt311(_) | Application::Mqtt5(_) => "sessions, subscriptions and retained messages",
        Application::MqttSn(_) => "clients and their registered topics",
        Application::AmqpSettled | Application::AmqpUnsettled => "queues",
        Application::Http1 | Application::Http3 => "resources and session tickets",
        Application::Store(_) => "rows, of which they keep none,",
        Application::Tcp
        | Application::Udp
        | Application::CoapNon
        | Application::CoapCon
        | Application::CoapTcp => "session tickets",
    };
    format!("{count} processes share the port, each a server of its own: {kept} are not shared between them")
}

/// The workers of the first process. Dropping them kills them.
#[derive(Default)]
pub(super) struct Workers(Vec<Worker>);

impl Workers {
    /// Starts `count` workers. They listen when this returns.
    pub(super) fn start(count: u32, address: SocketAddr, told: &Told) -> Result<Self, Failure> {
        if count == 0 {
            return Ok(Self::default());
        }
        let share = share(address, told)?;
        let program = own_program().map_err(Failure::internal)?;
        let own: Result<Vec<String>, _> = std::env::args_os()
            .skip(1)
            .map(std::ffi::OsString::into_string)
            .collect();
        let not_text = |word| Failure::usage(format_args!("{word:?} is not UTF-8"));
        let mut arguments = own.map_err(not_text)?;
        // All other words stay, so that a worker checks and serves exactly what the first process does.
        arguments.push("--worker".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let workers = (0..count).map(|_| -> Result<Worker, Failure> {
            let mut worker = Worker::start(&program, &arguments).map_err(Failure::internal)?;
            // On its standard input: keys and passwords in a command line are seen by every user of the machine.
            worker.send(&share).map_err(Failure::internal)?;
            let word = worker.receive(PATIENCE).map_err(Failure::internal)?;
            match word.as_str() {
                READY => Ok(worker),
                _ => Err(Failure::internal(format_args!("a worker said {word:?}"))),
            }
        });
        workers.collect::<Result<_, _>>().map(Self)
    }

    /// Checks that all of them are running.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let mut statuses = self.0.iter_mut().filter_map(Worker::exit_status);
        match statuses.next() {
            None => Ok(()),
            Some(status) => {
                let message = format_args!("a process of the server has ended, {status}");
                Err(Failure::internal(message))
            }
        }
    }

    /// Ends them.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        for worker in &mut self.0 {
            worker.stop(PATIENCE).map_err(Failure::internal)?;
        }
        Ok(())
    }
}

/// The values that the first process has generated or asked the user for.
pub(super) struct Told {
    pub(super) identity: Option<Identity>,
    pub(super) users: Vec<(String, String)>,
}

/// The values that a worker receives.
pub(super) struct Share {
    pub(super) address: SocketAddr,
    pub(super) identity: Option<Identity>,
    pub(super) users: Vec<(String, String)>,
    /// Whether the first process wants it to end, or has ended.
    pub(super) is_over: Arc<AtomicBool>,
}

fn share(address: SocketAddr, told: &Told) -> Result<String, Failure> {
    let texts = told.identity.as_ref().map(|identity| -> Result<_, Failure> {
        let certificates = identity.certificates_to_pem().map_err(Failure::internal)?;
        Ok([
            certificates,
            identity.private_key_to_pem().map_err(Failure::internal)?,
        ])
    });
    let (address, identity) = (address.to_string(), texts.transpose()?);
    Ok(json!({"address": address, "identity": identity, "users": told.users}).to_string())
}

impl Share {
    /// Reads the values from the first process.
    pub(super) fn read() -> Result<Self, Failure> {
        let unreadable = || Failure::usage("--worker is for wirecost itself");
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map_err(Failure::internal)?;
        let share: Value = serde_json::from_str(&line).map_err(|_| unreadable())?;
        let address = share["address"].as_str().and_then(|text| text.parse().ok());
        let identity = match (share["identity"][0].as_str(), share["identity"][1].as_str()) {
            (Some(certificates), Some(key)) => {
                Some(Identity::from_pem(certificates, key).map_err(Failure::internal)?)
            }
            _ => None,
        };
        let users = serde_json::from_value(share["users"].clone()).map_err(|_| unreadable())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&is_over);
        // A pipe closes even if the first process is killed, so that no worker stays behind and holds the port.
        std::thread::spawn(move || {
            // No further lines follow: the end of the input is the end of the server.
            let _ = std::io::stdin().lock().lines().count();
            tell.store(true, Ordering::Relaxed);
        });
        Ok(Self {
            address: address.ok_or_else(unreadable)?,
            identity,
            users,
            is_over,
        })
    }

    /// Reports to the first process that this worker listens.
    pub(super) fn ready() {
        crate::output::data(format_args!("{READY}\n"));
    }
}
