"""A server of MongoDB's protocol on the BSON codec of PyMongo: answers, and prints each inserted document as a line of JSON.

Argument: its port.
"""

import json
import socket
import struct
import sys
import threading

import bson

HEADER = struct.Struct("<iiii")
OP_MSG = 2013


def read(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def sections(body):
    """The command, and the documents of its sequences."""
    documents, command, at = [], None, 4
    while at < len(body):
        kind, at = body[at], at + 1
        (size,) = struct.unpack_from("<i", body, at)
        if kind == 0:
            command = bson.decode(body[at : at + size])
        else:
            start = body.index(b"\0", at + 4) + 1
            assert body[at + 4 : start] == b"documents\0", body[at:start]
            documents += bson.decode_all(body[start : at + size])
        at += size
    return command, documents


# What has been written while the primary steps down, which the server says of the first attempt alone.
unsure = set()


def answer(command, documents):
    match next(iter(command)):
        case "hello":
            return {"maxWireVersion": 21, "minWireVersion": 0, "ok": 1.0}
        case "insert":
            assert command["insert"] == "readings" and command["$db"] == "readings", command
            if any(document.get("payload") == {"refuse": True} for document in documents):
                return {"n": 0, "writeErrors": [{"index": 0, "code": 121, "errmsg": "no such reading"}], "ok": 1.0}
            senders = {document["sender"] for document in documents if document.get("payload") == {"step": "down"}}
            if senders - unsure:
                unsure.update(senders)
                error = {"code": 189, "errmsg": "the primary steps down"}
                return {"n": len(documents), "writeConcernError": error, "ok": 1.0}
            return {"n": len(documents), "ok": 1.0}
        case "createIndexes":
            return {"ok": 1.0}
        case other:
            return {"ok": 0.0, "code": 59, "errmsg": f"no such command: {other}"}


def serve(connection, lock):
    stream = connection.makefile("rwb")
    try:
        while True:
            size, request, _, kind = HEADER.unpack(read(stream, HEADER.size))
            assert kind == OP_MSG, kind
            command, documents = sections(read(stream, size - HEADER.size))
            reply = b"\0" * 4 + b"\0" + bson.encode(answer(command, documents))
            stream.write(HEADER.pack(HEADER.size + len(reply), 1, request, OP_MSG) + reply)
            stream.flush()
            with lock:
                if "createIndexes" in command:
                    print(json.dumps({"indexes": command["indexes"]}), flush=True)
                for document in documents:
                    shown = {key: value.hex() if isinstance(value, bytes) else str(value) for key, value in document.items()}
                    print(json.dumps(shown), flush=True)
    except EOFError:
        pass


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    lock = threading.Lock()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, lock), daemon=True).start()


main()
