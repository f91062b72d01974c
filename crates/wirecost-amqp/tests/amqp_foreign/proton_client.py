"""Sends messages to a container or receives them from it.

Usage: proton_client.py send|receive URL settled|unsettled COUNT BYTES
"""

import sys

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container


class Sender(MessagingHandler):
    def __init__(self, url, options, count, size):
        super().__init__()
        self.url, self.options, self.count, self.size = url, options, count, size
        self.sent = self.done = 0

    def on_start(self, event):
        connection = event.container.connect(self.url, reconnect=False, heartbeat=10)
        self.sender = event.container.create_sender(connection, "test", options=self.options)

    def on_sendable(self, event):
        while event.sender.credit and self.sent < self.count:
            event.sender.send(Message(body=b"x" * self.size, inferred=True))
            self.sent += 1
            if isinstance(self.options, AtMostOnce):
                self.settle(event)

    def on_accepted(self, event):
        self.settle(event)

    def settle(self, event):
        self.done += 1
        if self.done == self.count:
            print("sent", self.done)
            event.connection.close()


class Receiver(MessagingHandler):
    def __init__(self, url, options, count, size):
        super().__init__(prefetch=2)
        self.url, self.options, self.count, self.size = url, options, count, size
        self.received = 0

    def on_start(self, event):
        connection = event.container.connect(self.url, reconnect=False)
        event.container.create_receiver(connection, "test", options=self.options)

    def on_message(self, event):
        assert bytes(event.message.body) == b"x" * self.size, event.message.body
        self.received += 1
        if self.received == self.count:
            print("received", self.received)
            event.connection.close()


def main():
    what, url, settled, count, size = sys.argv[1:]
    options = AtMostOnce() if settled == "settled" else AtLeastOnce()
    handler = {"send": Sender, "receive": Receiver}[what]
    Container(handler(url, options, int(count), int(size))).run()


main()
