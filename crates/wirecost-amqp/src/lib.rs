//! AMQP 1.0 as a sans-IO machine: client and reference container.
