//! Our client with RabbitMQ, Proton's client with our container, over loopback.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "foreign peers are reached by sockets and in real time"
)]

mod driver;
#[path = "../../../wirecost/tests/peers/port.rs"]
mod port;
mod proton;
mod rabbitmq;
