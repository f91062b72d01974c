//! Parses the path and query that select a resource.

use std::time::Duration;

use crate::message::{Method, Response, Status};

/// The default and maximum number of messages on a page.
const PAGE_MESSAGES: usize = 1_000;

/// A resource and its query parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Test,
    LongPoll {
        name: &'a str,
        timeout: Option<Duration>,
    },
    Messages {
        next_key: u64,
        limit: usize,
    },
}

impl<'a> Target<'a> {
    pub(super) fn parse(target: &'a str) -> Result<Self, Response> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path {
            // An empty path is served too.
            "/" | "/test" => Ok(Self::Test),
            "/messages" => Ok(Self::Messages {
                next_key: number(query, "next_key")?.unwrap_or(0),
                limit: limit(number(query, "limit")?),
            }),
            _ => match path.strip_prefix("/long-poll/") {
                Some(name) if !name.is_empty() => Ok(Self::LongPoll {
                    name,
                    timeout: number(query, "timeout")?.map(Duration::from_secs),
                }),
                _ => Err(Response::empty(Status::NOT_FOUND)),
            },
        }
    }

    pub(super) const fn methods(&self) -> &'static [Method] {
        match self {
            Self::Test | Self::LongPoll { .. } => &[Method::Get, Method::Head, Method::Post, Method::Put],
            Self::Messages { .. } => &[Method::Get, Method::Head, Method::Post],
        }
    }

    /// [`Target::methods`] as the Allow field lists them.
    pub(super) const fn allow(&self) -> &'static str {
        match self {
            Self::Test | Self::LongPoll { .. } => "GET, HEAD, POST, PUT",
            Self::Messages { .. } => "GET, HEAD, POST",
        }
    }
}

fn limit(asked: Option<u64>) -> usize {
    let asked = asked.and_then(|asked| usize::try_from(asked).ok());
    asked.unwrap_or(PAGE_MESSAGES).min(PAGE_MESSAGES)
}

/// The value of `name` in a query of `name=value` pairs.
fn number(query: &str, name: &str) -> Result<Option<u64>, Response> {
    let value = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value));
    value
        .map(|text| text.parse().map_err(|_| Response::empty(Status::BAD_REQUEST)))
        .transpose()
}
