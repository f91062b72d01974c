//! From the arguments to the behaviour of devices apart from sending messages.

use std::sync::Arc;

use wirecost_load::devices::roles::phases::{Shape, phases};
use wirecost_scenario::load::MESSAGES;
use wirecost_scenario::options::load::resources::filter_of;
use wirecost_scenario::options::load::{Backoff, LoadOptions, Payload, Subscribers, Will};

use super::options::{Choice, DURATION, offer};
use crate::arguments::{LoadArguments, ShapeArguments};
use crate::commands::payload_of;
use crate::exit::Failure;

/// The load with the device options applied, and its phases.
pub(super) fn shaped(
    arguments: &LoadArguments,
    choice: &Choice,
    options: LoadOptions,
) -> Result<LoadOptions, Failure> {
    let asked = &arguments.shape;
    let mut options = LoadOptions {
        subscribers: subscribers(asked, &options),
        payload: payload(asked)?.unwrap_or(options.payload),
        will: asked.will_topic.clone().map(|topic| Will {
            topic,
            payload: asked.will_payload.clone(),
        }),
        ..options
    };
    options.phases =
        phases(&shape(arguments, choice), arguments.connect_rate, &options).map_err(Failure::usage)?;
    Ok(options)
}

fn shape(arguments: &LoadArguments, choice: &Choice) -> Shape {
    let asked = &arguments.shape;
    let offer = offer(arguments, choice.rate);
    if asked.get {
        Shape::Requests(offer)
    } else if asked.connect_only {
        Shape::Handshakes(offer)
    } else if asked.reconnect_storm {
        Shape::Storm {
            hold: arguments.duration.unwrap_or(DURATION),
            backoff: Backoff {
                full_jitter: !asked.no_jitter,
                ..asked.backoff
            },
            timeout: asked.back_within,
        }
    } else if asked.replay {
        Shape::Replay(offer)
    } else if asked.late_subscribers {
        Shape::Retained(offer)
    } else {
        Shape::Messages(offer)
    }
}

fn subscribers(asked: &ShapeArguments, options: &LoadOptions) -> Option<Subscribers> {
    let of_stack = options.stack.application.subscription_qos();
    Some(Subscribers {
        devices: asked.subscribers?,
        filter: match (&asked.filter, asked.poll) {
            (Some(filter), _) => filter.clone(),
            (None, Some(_)) => MESSAGES.to_owned(),
            (None, None) => filter_of(&options.resource),
        },
        poll: asked.poll,
        shared: asked.shared.clone(),
        qos: asked.subscribe_qos.unwrap_or(of_stack),
    })
}

fn payload(asked: &ShapeArguments) -> Result<Option<Payload>, Failure> {
    if let Some(text) = &asked.payload_template {
        return Ok(Some(Payload::Template(Arc::from(text.as_str()))));
    }
    let Some(path) = &asked.payload_file else {
        return Ok(None);
    };
    payload_of(path).map(|bytes| Some(Payload::File(bytes)))
}
