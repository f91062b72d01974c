//! The options of what HTTP requests and answers carry beyond the least.

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_scenario::options::sending::HttpSizes;

/// What HTTP requests and answers carry beyond the least that the standards need.
#[derive(Clone, Copy, Debug, Args)]
pub struct HttpArguments {
    /// Further header fields of each HTTP request, from 15B on: the size that they have in HTTP/1.1
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub request_headers: Option<ByteSize>,

    /// Body of the built-in server's HTTP answer to a message [default: none]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub response_body: Option<ByteSize>,
}

impl HttpArguments {
    /// The sizes.
    pub const fn sizes(self) -> HttpSizes {
        HttpSizes {
            request_headers: self.request_headers,
            response_body: self.response_body,
        }
    }
}
