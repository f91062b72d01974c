"""Cases with paho-mqtt: paho_cases.py PORT CASE. Prints how the case ended, fails where something never came."""

import queue
import socket
import sys
import time

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

PATIENCE = 20
PORT = int(sys.argv[1])
V4, V5 = mqtt.MQTTv311, mqtt.MQTTv5


def properties(packet, **values):
    """Properties of a packet type, by the names that paho gives them."""
    made = Properties(getattr(PacketTypes, packet))
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Client:
    """A connected client whose callbacks fill queues."""

    def __init__(self, name="", version=V5, connect=None, clean=True, manual=False, will=None, keepalive=60):
        named = {"clean_session": clean} if version == V4 else {}
        self.client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, name, protocol=version, manual_ack=manual, **named
        )
        self.connected, self.disconnected = queue.Queue(), queue.Queue()
        self.messages, self.published = queue.Queue(), queue.Queue()
        self.subscribed, self.unsubscribed = queue.Queue(), queue.Queue()
        self.client.on_connect = lambda _, __, flags, code, props: self.connected.put((flags, code, props))
        self.client.on_disconnect = lambda _, __, flags, code, props: self.disconnected.put(code)
        self.client.on_message = lambda _, __, message: self.messages.put(message)
        self.client.on_publish = lambda _, __, mid, code, props: self.published.put((mid, code))
        self.client.on_subscribe = lambda _, __, mid, codes, props: self.subscribed.put(codes)
        self.client.on_unsubscribe = lambda _, __, mid, codes, props: self.unsubscribed.put(codes)
        if will:
            self.client.will_set(**will)
        start = {"clean_start": clean, "properties": connect} if version == V5 else {}
        self.client.connect("127.0.0.1", PORT, keepalive=keepalive, **start)
        self.client.loop_start()
        self.flags, self.code, self.properties = self.connected.get(timeout=PATIENCE)

    def subscribe(self, *filters, **more):
        self.client.subscribe(list(filters), **more)
        return [code.value for code in self.subscribed.get(timeout=PATIENCE)]

    def unsubscribe(self, topic):
        self.client.unsubscribe(topic)
        return [code.value for code in self.unsubscribed.get(timeout=PATIENCE)]

    def publish(self, topic, payload, qos=1, **more):
        """Publishes and waits until the exchange is over; returns the reason code."""
        mid = self.client.publish(topic, payload, qos, **more).mid
        while True:
            published, code = self.published.get(timeout=PATIENCE)
            if published == mid:
                return code.value

    def message(self):
        return self.messages.get(timeout=PATIENCE)

    def is_silent(self, seconds=0.5):
        try:
            return self.messages.get(timeout=seconds) is None
        except queue.Empty:
            return True

    def vanish(self):
        """Ends without DISCONNECT."""
        self.client.loop_stop()
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.client.socket().close()

    def close(self, reason=0, **values):
        code = ReasonCode(PacketTypes.DISCONNECT, identifier=reason)
        self.client.disconnect(code, properties("DISCONNECT", **values) if values else None)
        self.client.loop_stop()


def text(message):
    return message.payload.decode()


def options(qos=1, **more):
    return SubscribeOptions(qos, **more)


def connect():
    """A first connection of both versions."""
    for version in (V4, V5):
        client = Client("first", version)
        yield client.code.value, client.flags.session_present
        client.close()


def client_id():
    """An empty client id gets one of its own (MQTT 5 section 3.1.3.1)."""
    names = [Client().properties.AssignedClientIdentifier for _ in range(2)]
    yield all(names), names[0] != names[1]


def exactly_once():
    """Five hundred messages of each version, published without waiting."""
    for version in (V4, V5):
        client = Client("once", version)
        client.subscribe(("once", 2) if version == V4 else ("once", options(2)))
        for number in range(500):
            client.client.publish("once", str(number), 2)
        got = [client.message() for _ in range(500)]
        yield [text(message) for message in got] == [str(number) for number in range(500)]
        yield {(message.qos, message.dup) for message in got}, client.is_silent()
        client.close()


def receive_maximum():
    """No more unacknowledged messages than the client takes (MQTT 5 section 3.3.4)."""
    slow = Client("slow", connect=properties("CONNECT", ReceiveMaximum=2), manual=True)
    slow.subscribe(("flow", options(2)))
    sender = Client("fast")
    for number in range(6):
        sender.publish("flow", str(number), qos=1 + number % 2)
    order = []
    while len(order) < 6:
        window = [slow.message() for _ in range(min(2, 6 - len(order)))]
        assert slow.is_silent(0.2), "more than the receive maximum"
        order += [text(message) for message in window]
        for message in window:
            slow.client.ack(message.mid, message.qos)
    yield order


def session():
    """What was not acknowledged comes again, with DUP, in the next connection (MQTT 5 section 4.4)."""
    for version in (V4, V5):
        lasting = properties("CONNECT", SessionExpiryInterval=100) if version == V5 else None
        make = lambda manual: Client("lasting", version, lasting, clean=False, manual=manual)
        client = make(True)
        yield client.flags.session_present
        client.subscribe(("kept", 1) if version == V4 else ("kept", options(1)))
        sender = Client("sender", version)
        sender.publish("kept", "unacknowledged")
        first = client.message()
        client.vanish()
        sender.publish("kept", "while away")
        client = make(False)
        again, queued = client.message(), client.message()
        yield client.flags.session_present, first.dup, text(again), again.dup, text(queued), queued.dup
        client.close()
        fresh = Client("lasting", version)
        yield fresh.flags.session_present
        fresh.close()


def session_end():
    """The expiry interval of CONNECT ends a session, unless DISCONNECT sets another (MQTT 5 section 3.14.2.2.2)."""
    resume = lambda: Client("ending", connect=properties("CONNECT", SessionExpiryInterval=1), clean=False)
    resume().close()
    soon = resume()
    yield soon.flags.session_present
    soon.close()
    time.sleep(2)
    late = resume()
    yield late.flags.session_present
    late.close(SessionExpiryInterval=100)
    time.sleep(2)
    longer = resume()
    yield longer.flags.session_present
    longer.close(SessionExpiryInterval=0)
    yield resume().flags.session_present


def take_over():
    """A second client of the same id ends the first (MQTT 5 section 3.1.4, reason code 0x8E)."""
    will = {"topic": "gone", "payload": "taken", "qos": 1}
    watcher = Client("watcher")
    watcher.subscribe(("gone", options(1)))
    first = Client("same", will=will)
    second = Client("same")
    yield first.disconnected.get(timeout=PATIENCE).value, text(watcher.message())
    first.client.loop_stop()
    yield second.publish("still", "there", qos=1) in (0, 16)


def reason_codes():
    """What acknowledgements say of their requests."""
    client = Client("reasons")
    yield client.publish("nobody", "x"), client.publish("nobody", "x", qos=2)
    yield client.subscribe(("a", options(0)), ("b/+", options(1)), ("c", options(2)))
    yield client.unsubscribe("a"), client.unsubscribe("never")
    yield client.publish("b/1", "x")


def subscription_options():
    """No Local, Retain As Published, Retain Handling and identifiers (MQTT 5 section 3.8.3.1)."""
    client, other = Client("options"), Client("other")
    client.subscribe(("local", options(1, noLocal=True)))
    client.publish("local", "mine")
    other.publish("local", "theirs")
    yield text(client.message())
    client.subscribe(("as/published", options(1, retainAsPublished=True)), ("as/usual", options(1)))
    for topic in ("as/published", "as/usual"):
        other.publish(topic, "x", retain=True)
        yield client.message().retain
    for handling, seen in ((0, True), (0, True), (1, False), (2, False)):
        client.subscribe(("as/usual", options(1, retainHandling=handling)))
        assert client.is_silent() != seen, f"retain handling {handling}"
    identified = properties("SUBSCRIBE", SubscriptionIdentifier=77)
    client.subscribe(("identified/#", options(1)), properties=identified)
    other.publish("identified/1", "x")
    yield client.message().properties.SubscriptionIdentifier


def request_response():
    """A request with a response topic and correlation data is answered (MQTT 5 section 4.10)."""
    asking, answering = Client("asking"), Client("answering")
    asking.subscribe(("answers/asking", options(1)))
    answering.subscribe(("questions", options(1)))
    question = properties(
        "PUBLISH", ResponseTopic="answers/asking", CorrelationData=b"\x00\xff7", UserProperty=("unit", "K")
    )
    asking.publish("questions", "how warm", properties=question)
    asked = answering.message().properties
    answer = properties("PUBLISH", CorrelationData=asked.CorrelationData)
    answering.publish(asked.ResponseTopic, "293", properties=answer)
    answered = asking.message()
    yield asked.UserProperty, text(answered), answered.properties.CorrelationData


def will():
    """A will with properties waits for its delay, and is dropped where the client comes back (section 3.1.3.2)."""
    watcher = Client("watcher")
    watcher.subscribe(("will", options(1)))
    described = properties("WILLMESSAGE", WillDelayInterval=2, ContentType="text/plain", UserProperty=("k", "v"))
    last = {"topic": "will", "payload": "gone", "qos": 1, "properties": described}
    lasting = properties("CONNECT", SessionExpiryInterval=100)
    make = lambda: Client("mortal", connect=lasting, clean=False, will=last)
    make().vanish()
    yield watcher.is_silent(1)
    back = make()
    yield watcher.is_silent(3)
    back.vanish()
    message = watcher.message()
    yield text(message), message.properties.ContentType, message.properties.UserProperty
    make().close(4)
    yield text(watcher.message())


def packet_limit():
    """A client gets no packet above its limit, and the next one all the same (section 3.1.2.11.4)."""
    small = Client("small", connect=properties("CONNECT", MaximumPacketSize=100))
    small.subscribe(("size", options(1)))
    sender = Client("sender")
    for size in (50, 500, 60):
        sender.publish("size", "x" * size)
    yield len(small.message().payload), len(small.message().payload)


def topic_alias():
    """Aliases of the client, and of the broker where the client takes them (section 3.3.2.3.4)."""
    sender = Client("sender")
    taker = Client("taker", connect=properties("CONNECT", TopicAliasMaximum=5))
    taker.subscribe(("a/long/topic/#", options(1)))
    yield getattr(sender.properties, "TopicAliasMaximum", 0) > 0
    names = {}
    for topic in ("a/long/topic/1", "", ""):
        sender.publish(topic, "x", properties=properties("PUBLISH", TopicAlias=1))
        message = taker.message()
        alias = getattr(message.properties, "TopicAlias", None)
        if alias and message.topic:
            names[alias] = message.topic
        yield message.topic or names[alias]


def topic_alias_beyond_limit():
    """An alias above the broker's limit is an error (section 3.3.2.3.4, reason code 0x94)."""
    client = Client("eager")
    limit = getattr(client.properties, "TopicAliasMaximum", 0)
    client.client.publish("a", "x", 1, properties=properties("PUBLISH", TopicAlias=limit + 1))
    yield client.disconnected.get(timeout=PATIENCE).value
    client.client.loop_stop()


def big():
    """A megabyte each way, at every quality of service."""
    client = Client("big")
    client.subscribe(("big", options(2)))
    payload = bytes(range(256)) * 4096
    for qos in (0, 1, 2):
        client.publish("big", payload, qos=qos)
        yield client.message().payload == payload


def expiry():
    """A retained message tells the rest of its life, and is gone after it (section 3.3.2.3.3)."""
    sender = Client("sender")
    for seconds in (1, 100):
        life = properties("PUBLISH", MessageExpiryInterval=seconds)
        sender.publish(f"life/{seconds}", "x", retain=True, properties=life)
    time.sleep(2.2)
    late = Client("late")
    late.subscribe(("life/#", options(1)))
    message = late.message()
    yield message.topic, 90 <= message.properties.MessageExpiryInterval <= 98, late.is_silent()


def shared():
    """A shared subscription with No Local is an error (section 3.8.3.1); a member that leaves gets no more."""
    sender, stays, leaves = Client("sender"), Client("stays"), Client("leaves")
    for member in (stays, leaves):
        member.subscribe(("$share/group/work", options(1)))
    for number in range(10):
        sender.publish("work", str(number))
    got = [sum(1 for _ in range(10) if not member.is_silent(0.2)) for member in (stays, leaves)]
    yield sum(got), min(got) > 0
    leaves.close()
    for number in range(10):
        sender.publish("work", str(number))
    yield [text(stays.message()) for _ in range(10)] == [str(number) for number in range(10)]
    wrong = Client("wrong")
    wrong.client.subscribe([("$share/group/work", options(1, noLocal=True))])
    yield wrong.disconnected.get(timeout=PATIENCE).value
    wrong.client.loop_stop()


def keep_alive():
    """A client that does not ping is dropped after one and a half times its keep-alive (section 3.1.2.10)."""
    watcher = Client("watcher")
    watcher.subscribe(("silence", options(1)))
    silent = Client("silent", keepalive=2, will={"topic": "silence", "payload": "fell", "qos": 1})
    began = time.monotonic()
    silent.client.loop_stop()
    message = watcher.message()
    yield text(message), time.monotonic() - began >= 2
    pings = Client("pings", keepalive=1)
    time.sleep(4)
    yield pings.client.is_connected()


def main():
    for outcome in globals()[sys.argv[2]]():
        print(repr(outcome))


main()
