"""Plugtest cases with aiocoap: aiocoap_cases.py PORT CASE. Prints what was answered, fails where nothing was."""

import asyncio
import sys

from aiocoap import DELETE, GET, POST, PUT, Context, Message, OptionNumber, Reliable, Unreliable
from aiocoap.optiontypes import OpaqueOption

PATIENCE = 20
HOST = f"coap://127.0.0.1:{sys.argv[1]}"
TEXT, LINKS, XML, EXI, JSON, CBOR = 0, 40, 41, 47, 50, 60


class Client:
    """A client with one UDP port."""

    def __init__(self, context):
        self.context = context

    async def ask(self, code, path, payload=b"", confirmable=True, **options):
        """Sends a request; returns the response."""
        return await asyncio.wait_for(self.request(code, path, payload, confirmable, **options).response, PATIENCE)

    def request(self, code, path, payload=b"", confirmable=True, **options):
        return self.context.request(message(code, path, payload, confirmable, **options))

    async def observe(self, path):
        """Registers; returns the first response and an iterator over notifications."""
        request = self.request(GET, path, observe=0)
        first = await asyncio.wait_for(request.response, PATIENCE)
        return first, Notifications(request.observation)


class Notifications:
    """The notifications of an observation."""

    def __init__(self, observation):
        self.observation = observation
        self.queue = asyncio.Queue()
        self.task = asyncio.create_task(self.collect())

    async def collect(self):
        async for response in self.observation:
            await self.queue.put(response)

    async def next(self):
        return await asyncio.wait_for(self.queue.get(), PATIENCE)

    async def is_silent(self, seconds):
        await asyncio.sleep(seconds)
        return self.queue.empty()

    def cancel(self):
        self.observation.cancel()


def message(code, path, payload=b"", confirmable=True, extra=(), **options):
    tuning = Reliable if confirmable else Unreliable
    made = Message(code=code, uri=HOST + path, payload=payload, transport_tuning=tuning)
    for name, value in options.items():
        setattr(made.opt, name, value)
    for option in extra:
        made.opt.add_option(option)
    return made


def said(response):
    """The code as a number, and the content."""
    return response.code.dotted, response.payload


async def core(client):
    """TD_COAP_CORE_01 to 08: every method, confirmable and not."""
    for confirmable in (True, False):
        for code in (GET, POST, PUT, DELETE):
            payload = b"new" if code in (POST, PUT) else b""
            response = await client.ask(code, "/test", payload, confirmable)
            yield said(response)


async def separate(client):
    """TD_COAP_CORE_09 and 16: the response comes apart from the ACK."""
    for confirmable in (True, False):
        yield said(await client.ask(GET, "/separate", confirmable=confirmable))


async def paths(client):
    """TD_COAP_CORE_12 and 13: segments and queries."""
    for path in ("/seg1/seg2/seg3", "/seg1/seg2", "/seg1", "/query?first=1&second=2", "/query"):
        yield said(await client.ask(GET, path))


async def location(client):
    """TD_COAP_CORE_18 and 19: where a POST created something."""
    response = await client.ask(POST, "/location-query", b"x")
    yield response.code.dotted, response.opt.location_query
    response = await client.ask(POST, "/test", b"x")
    yield response.code.dotted, response.opt.location_path
    response = await client.ask(POST, "/large-create", b"small")
    yield response.code.dotted, response.opt.location_path
    yield said(await client.ask(GET, "/" + "/".join(response.opt.location_path)))


async def formats(client):
    """TD_COAP_CORE_20: the format asked for, or none."""
    for accept in (TEXT, XML, JSON, CBOR, EXI):
        response = await client.ask(GET, "/multi-format", accept=accept)
        form = response.opt.content_format
        yield *said(response), None if form is None else int(form)


async def validate(client):
    """TD_COAP_CORE_21 and 22: entity-tags and If-Match."""
    first = await client.ask(GET, "/validate")
    tag = first.opt.etag
    again = await client.ask(GET, "/validate", etags=[tag])
    yield first.code.dotted, bool(tag), again.code.dotted, again.opt.etag == tag
    yield (await client.ask(PUT, "/validate", b"other", if_match=[tag])).code.dotted
    yield (await client.ask(PUT, "/validate", b"late", if_match=[tag])).code.dotted
    changed = await client.ask(GET, "/validate", etags=[tag])
    yield *said(changed), changed.opt.etag != tag


async def create(client):
    """TD_COAP_CORE_23: If-None-Match creates once."""
    for path in ("/create1", "/create2", "/create3"):
        yield (await client.ask(GET, path)).code.dotted
        for _ in range(2):
            yield (await client.ask(PUT, path, b"made", if_none_match=True)).code.dotted
        yield said(await client.ask(DELETE, path))


async def errors(client):
    """RFC 7252 sections 5.4.1 and 5.8: what is not there, not allowed, not understood."""
    critical, elective = (OpaqueOption(OptionNumber(number), b"x") for number in (65001, 65000))
    yield (await client.ask(GET, "/nowhere")).code.dotted
    yield (await client.ask(PUT, "/separate", b"x")).code.dotted
    yield (await client.ask(GET, "/test", extra=[critical])).code.dotted
    yield (await client.ask(GET, "/test", extra=[elective])).code.dotted


async def links(client):
    """TD_COAP_LINK_01 to 09: the list of resources and its filters."""
    whole = await client.ask(GET, "/.well-known/core")
    yield whole.opt.content_format == LINKS, len(whole.payload) > 400
    for query in ("rt=Type1", "rt=*", "rt=Type2", "if=If*", "if=foo", "href=/link1", "href=/link*", "sz=*", "ct=40"):
        response = await client.ask(GET, f"/.well-known/core?{query}")
        found = response.payload.decode().split(",") if response.payload else []
        yield query, [link.split(">")[0][1:] for link in found]
    response = await client.ask(GET, "/path")
    yield response.opt.content_format == LINKS, response.payload


async def blocks(client):
    """TD_COAP_BLOCK_01 to 05: block-wise both ways, late and early negotiation."""
    large = await client.ask(GET, "/large")
    small = await client.ask(GET, "/large", block2=(0, False, 2))
    yield len(large.payload), small.payload == large.payload
    content = bytes(range(256)) * 20
    yield (await client.ask(PUT, "/large-update", content)).code.dotted
    yield (await client.ask(GET, "/large-update")).payload == content
    created = await client.ask(POST, "/large-create", content)
    yield created.code.dotted, created.opt.location_path
    yield (await client.ask(GET, "/" + "/".join(created.opt.location_path))).payload == content
    letters = b"abcdefgh" * 400
    both = await client.ask(POST, "/large-post", letters)
    yield both.code.dotted, both.payload == letters.upper()
    for confirmable in (True, False):
        yield (await client.ask(PUT, "/test", content, confirmable)).code.dotted
        yield (await client.ask(GET, "/test", b"", confirmable)).payload == content


async def no_response(client):
    """RFC 7967: silence where it is asked for, an answer where the class was not excluded."""
    for path, value, confirmable in (("/test", 26, True), ("/test", 26, False), ("/test", 2, False)):
        request = client.request(PUT, path, b"quiet", confirmable, no_response=value)
        try:
            await asyncio.wait_for(asyncio.shield(request.response), 1)
            yield "answered"
        except asyncio.TimeoutError:
            yield "silence"
    yield said(await client.ask(GET, "/test"))
    yield (await client.ask(PUT, "/nowhere", b"x", False, no_response=2)).code.dotted


async def observe(client):
    """TD_COAP_OBS_01, 02 and 10: the state, its changes by itself and by a PUT, in order; both kinds."""
    for path in ("/obs", "/obs-non"):
        first, notifications = await client.observe(path)
        ticked = await notifications.next()
        await client.ask(PUT, path, b"mine")
        put = await notifications.next()
        numbers = [response.opt.observe for response in (first, ticked, put)]
        yield len(first.payload), ticked.payload != first.payload, put.payload, numbers == sorted(set(numbers))
        notifications.cancel()


async def observe_large(client):
    """TD_COAP_OBS_ with blocks: a notification above the block size is fetched (RFC 7959 section 2.6)."""
    first, notifications = await client.observe("/obs-large")
    second = await notifications.next()
    yield len(first.payload), len(second.payload), first.payload != second.payload


async def observe_pumping(client):
    """TD_COAP_OBS_: two resources that change, observed from one port, apart by their tokens."""
    observed = [await client.observe(path) for path in ("/obs-pumping", "/obs-pumping-non")]
    for first, notifications in observed:
        second, third = await notifications.next(), await notifications.next()
        yield first.payload < second.payload < third.payload


async def observe_end(client):
    """TD_COAP_OBS_07 and 08: a deleted resource, and one of another format, end the observation."""
    _, notifications = await client.observe("/obs")
    await client.ask(DELETE, "/obs")
    yield (await notifications.next()).code.dotted
    _, notifications = await client.observe("/obs-non")
    await client.ask(PUT, "/obs-non", b"<x/>", content_format=XML)
    yield (await notifications.next()).code.dotted


async def observe_afresh(client):
    """TD_COAP_OBS_08, 09, 10 and 12 in this order: what one observation leaves is no part of the next."""
    _, notifications = await client.observe("/obs")
    await client.ask(PUT, "/obs", b"<x/>", content_format=XML)
    yield (await notifications.next()).code.dotted
    first, notifications = await client.observe("/obs")
    yield first.code.dotted, int(first.opt.content_format), first.opt.observe is not None
    await notifications.next()
    yield (await client.ask(PUT, "/obs", b"New value", content_format=TEXT)).code.dotted
    told = await notifications.next()
    yield told.code.dotted, told.payload, told.opt.observe is not None
    plain = await client.ask(GET, "/obs")
    yield plain.payload, plain.opt.observe
    yield (await notifications.next()).code.dotted


async def observe_reset(client):
    """A server that forgets its observers goes silent."""
    _, notifications = await client.observe("/obs")
    await notifications.next()
    yield (await client.ask(POST, "/obs-reset")).code.dotted
    yield await notifications.is_silent(7)


async def main():
    context = await Context.create_client_context()
    async for outcome in globals()[sys.argv[2]](Client(context)):
        print(repr(outcome), flush=True)
    await context.shutdown()


asyncio.run(main())
