//! The subscription of a subscriber: a topic filter (MQTT), or a resource to observe (CoAP) or to poll (HTTP).

use std::sync::Arc;

use wirecost_coap::client as coap;
use wirecost_http::message as http;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::SubscriptionOptions;
use wirecost_mqtt::quality::QoS;

use super::Stack;
use super::error::{ClientError, StackError};
use super::media::Media;
use super::message::{Address, http};

/// The subscription of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The topic filter with its `$share/GROUP/`, or the path.
    pub filter: String,
    /// The highest quality of service of its messages (MQTT).
    pub qos: u8,
}

impl Subscription {
    /// A subscription to `filter`, shared in `group` where there is one.
    ///
    /// # Errors
    /// The stack has no subscriptions or no groups, or the filter is ill-formed.
    pub fn new(stack: Stack, filter: &str, group: Option<&str>, qos: u8) -> Result<Self, ClientError> {
        let filter = match group {
            Some(group) if stack.is_mqtt() => format!("$share/{group}/{filter}"),
            Some(_) => return Err(StackError::NoSharedSubscriptions.with_stack(stack)),
            None => filter.to_owned(),
        };
        let subscription = Self { filter, qos };
        let known = if stack.is_mqtt() {
            subscription.subscribe().map(drop)
        } else if stack.is_coap() {
            subscription.observe(0).map(drop)
        } else if stack.is_http() {
            http(
                http::Method::Get,
                Address::from_resource(&subscription.page(0)),
                Media::BYTES,
                Vec::new().into(),
            )
            .map(drop)
        } else {
            Err(StackError::NoSubscriptions)
        };
        known.map_err(|error| error.with_stack(stack))?;
        Ok(subscription)
    }

    /// The SUBSCRIBE.
    pub(super) fn subscribe(&self) -> Result<mqtt::Command, StackError> {
        let qos = QoS::from_bits(self.qos).ok_or(StackError::QoS(self.qos))?;
        let subscribe = mqtt::Command::subscribe(&self.filter, SubscriptionOptions::of_qos(qos));
        subscribe.map_err(|error| StackError::Filter {
            filter: self.filter.clone(),
            error,
        })
    }

    /// The path and query of the page of messages from `next_key` on.
    pub(super) fn page(&self, next_key: u64) -> String {
        let sign = if self.filter.contains('?') { '&' } else { '?' };
        format!("{}{sign}next_key={next_key}", self.filter)
    }

    /// The registration under the number `message`.
    pub(super) fn observe(&self, message: u64) -> Result<coap::Command, StackError> {
        let template = coap::RequestTemplate::new(coap::Request::get(self.filter.as_str()))?;
        Ok(coap::Command::Observe {
            message,
            template: Arc::new(template),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscribe(stack: &str, filter: &str, group: Option<&str>) -> Result<String, String> {
        let stack = stack.parse().expect("a stack");
        Subscription::new(stack, filter, group, 1)
            .map(|subscription| subscription.filter)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_subscription_is_what_its_protocol_can_ask_for() {
        assert_eq!(subscribe("mqtt-qos1", "t/+/s", None), Ok("t/+/s".into()));
        assert_eq!(subscribe("mqtt5-qos1", "t", Some("g")), Ok("$share/g/t".into()));
        assert_eq!(subscribe("coap-con", "test", None), Ok("test".into()));
        assert_eq!(subscribe("http1", "messages", None), Ok("messages".into()));
        for (stack, filter, group, reason) in [
            ("coap-con", "test", Some("g"), "shared"),
            ("http3", "messages", Some("g"), "shared"),
            ("http1", "my messages", None, "visible ASCII"),
            ("amqp-unsettled", "test", None, "no way to receive"),
            ("mqttsn-qos1", "test", None, "no way to receive"),
            ("mqtt-qos1", "a/#/b", None, "ill-formed"),
        ] {
            let error = subscribe(stack, filter, group).expect_err(stack);
            assert!(error.contains(reason), "{error}");
        }
    }
}
