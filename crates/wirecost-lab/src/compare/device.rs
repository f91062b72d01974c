//! The configuration of one device, for kernel sockets and for virtual time.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_proto::hosts::HostIndex;
use wirecost_scenario::link::forgotten_after;
use wirecost_scenario::options::compare::{Options, Reconnect};
use wirecost_scenario::options::sending::frame_bytes;
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::Application;
use wirecost_stack::channels::{ChannelOptions, datagram_bytes};
use wirecost_stack::client::ClientConfig;
use wirecost_stack::run_tag::RunTag;

use super::sampler::Timing;

/// How long a client may take to connect, in addition to four round trips and the retransmissions of its protocol.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timing of a cell's device that starts at `at`.
pub(super) fn timing(options: &Options, cell: &PlannedCell, at: Instant) -> Timing {
    let early = cell
        .stack
        .has_early_message(cell.start, options.sending.pipelined_connect);
    Timing {
        at,
        settle: options.settle,
        timeout: options.timeout,
        // A slow link alone must not look like a server that does not answer: four round trips are the most of a handshake.
        connect_timeout: CONNECT_TIMEOUT
            + options.links[cell.link].rtt() * 4
            + cell.stack.connect_retry_time(cell.start),
        messages: cell.schedule.messages,
        interval: cell.schedule.interval,
        answered: cell.stack.awaits_answer(cell.payload.len()),
        start: cell.start,
        // A message that leaves with the first flight cannot have a warm-up message before it.
        warm_up: cell.schedule.warm_up && !early,
        early,
        server_closes: closes_after_answer(cell),
        reconnects: options.reconnect == Reconnect::AsNeeded,
        forgotten_after: forgotten_after(&options.links[cell.link], cell.stack),
    }
}

/// The name of client number `number`, from 0, of a run with this tag.
pub(super) fn device_name(tag: RunTag, number: HostIndex) -> String {
    format!("{tag}{:05}", u64::from(number) + 1)
}

/// The configuration of client number `number` of a cell, from 0.
pub(super) fn client_config(
    options: &Options,
    cell: &PlannedCell,
    number: HostIndex,
    sample: u32,
) -> ClientConfig {
    let client_id = device_name(RunTag::ALONE, number);
    ClientConfig {
        keep_alive: options.keep_alive_of(&cell.schedule),
        host: number,
        start: cell.start,
        pipelined_connect: options.sending.pipelined_connect,
        amqp_frame_size: frame_bytes(options.sending.amqp_frame_size),
        connection_close: closes_after_answer(cell),
        ..ClientConfig::new(client_id, cell.rng.host(u64::from(sample)))
    }
}

/// Whether the client asks the server to close the connection after its answer: HTTP/1.1 with one message per
/// connection (RFC 9112, section 9.6).
fn closes_after_answer(cell: &PlannedCell) -> bool {
    let schedule = &cell.schedule;
    cell.stack.application == Application::Http1 && !schedule.warm_up && schedule.messages == 1
}

/// The channel options of both sides on links whose largest IP packet has `mtu` bytes.
pub(super) fn channel_options(options: &Options, mtu: u16) -> ChannelOptions {
    ChannelOptions {
        // Always, so that a ticket has the same size whatever other cells a run has. The client decides whether to use
        // it.
        accept_early_data: true,
        client_certificates: options.client_certificates,
        dtls_cookie: options.dtls_cookie,
        datagram_bytes: datagram_bytes(mtu, options.ipv6),
        response_body: options.sending.http.body_bytes(),
        amqp_frame_size: frame_bytes(options.sending.amqp_frame_size),
        classical_signatures: false,
        offered: options.handshake.offered(),
        accepted: options.handshake.accepted(),
    }
}
