//! Worlds in virtual time. One program: each of these would compile the simulator for its devices once more.

mod cells;
mod coap_closed_forms;
mod common;
mod datagrams;
mod directed;
mod flows;
mod ledger;
mod phases;
#[path = "../../benches/pairs/script.rs"]
mod script;
mod streams;
