"""Sends a message over TLS: proton_tls.py PORT AUTHORITY USER:PASSWORD|-. Prints `accepted` or why not."""

import sys

from proton import Message, SSLDomain
from proton.handlers import MessagingHandler
from proton.reactor import Container


class Sender(MessagingHandler):
    def __init__(self, port, authority, user):
        super().__init__()
        self.port, self.authority, self.user = port, authority, user
        self.is_sent = False

    def on_start(self, event):
        domain = SSLDomain(SSLDomain.MODE_CLIENT)
        domain.set_trusted_ca_db(self.authority)
        domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME)
        options = {"allowed_mechs": "ANONYMOUS"}
        if self.user != "-":
            name, password = self.user.split(":")
            options = {"user": name, "password": password, "allowed_mechs": "PLAIN"}
        url = f"amqps://localhost:{self.port}"
        connection = event.container.connect(url, ssl_domain=domain, reconnect=False, **options)
        event.container.create_sender(connection, "test")

    def on_sendable(self, event):
        if not self.is_sent:
            self.is_sent = True
            event.sender.send(Message(body=b"hello"))

    def on_accepted(self, event):
        print("accepted")
        event.connection.close()

    def on_transport_error(self, event):
        print(event.transport.condition)


Container(Sender(*sys.argv[1:])).run()
