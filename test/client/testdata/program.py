"""Counts and traces calls of a JVM, with a client that was generated from docs/formats/service.json.

The arguments are the address of the service, the file of its token, its socket, the process
number of the JVM, and the document. A line on standard output asks the test to make the JVM
call checkout that many times; the answer is a line on standard input.
"""

import json
import sys
import time
from http import HTTPStatus

import httpx
from openapi_schema_validator import OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from sonde_client import AuthenticatedClient, Client
from sonde_client.api.default import (
    end_look, get_events, get_look, get_probes, get_result, get_service, get_status, list_looks, set_probes, start_apply, start_count,
    start_monitor, start_profile, start_trace,
)
from sonde_client.models import (
    ApplyDocument, ApplyRequest, CountDocument, CountRequest, Look, LookState, MonitorDocument, MonitorRequest, Outcome, Problem,
    ProfileDocument, ProfileRequest, Status, TraceRequest, TraceResult,
)
from sonde_client.types import File

CHECKOUT = "shop.Shop.checkout"
PATIENCE = 120  # seconds; only bounds a service that hangs


def check(what, have, want):
    if have != want:
        sys.exit(f"{what}: {have!r}, want {want!r}")


def checkout(carts):
    print(carts, flush=True)
    if not sys.stdin.readline().startswith("done"):
        sys.exit("the JVM has ended")


def wait(client, number, holds):
    end = time.monotonic() + PATIENCE
    while not holds(look := get_look.sync(number, client=client)):
        if look.state != LookState.RUNNING or time.monotonic() > end:
            sys.exit(f"look {number} is {look}")
        time.sleep(0.02)
    return look


def started(client, operation, body):
    """Starts a look in the background and waits until it measures."""
    look = operation.sync(client=client, body=body)
    check("the answer to the request for a look", type(look), Look)
    wait(client, look.number, lambda l: l.ready)
    return look.number


def ended(client, number):
    look = end_look.sync(number, client=client)
    check(f"look {number}", (type(look), look.state, look.exit_), (Look, LookState.ENDED, 0))
    return look


class Schemas:
    """The schemas of the document, to check results with."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.registry = Registry().with_resource("urn:sonde", Resource(contents=json.load(file), specification=DRAFT202012))

    def result(self, client, number, model):
        """Returns the result of a look as an object of the client, and as text for people."""
        text = get_result.sync(number, client=client, format_="txt").payload.read().decode()
        check("a text", bool(text.strip()), True)
        data = json.loads(get_result.sync(number, client=client).payload.read())
        schema = {"$ref": f"urn:sonde#/components/schemas/{model.__name__}"}
        for error in OAS31Validator(schema, registry=self.registry).iter_errors(data):
            sys.exit(f"the result of look {number} is no {model.__name__}: {error.json_path}: {error.message}")
        return model.from_dict(data)


def count(client, pid, schemas):
    number = started(client, start_count, CountRequest(pid=pid, methods=[CHECKOUT, "shop.Shop.price"], background=True))
    checkout(1234)
    checkout(66)
    look = ended(client, number)
    check("formats", sorted(look.formats), ["json", "txt"])
    result = schemas.result(client, number, CountDocument)
    check("calls", {m.method: m.calls for m in result.methods}, {"checkout": 1300, "price": 3900})
    check("all calls", result.calls, 5200)
    return number


def trace(client, pid, schemas):
    number = started(client, start_trace, TraceRequest(pid=pid, methods=[CHECKOUT], background=True, limit=5, levels=1))
    checkout(10)
    look = wait(client, number, lambda l: l.state == LookState.ENDED)
    check("exit code and error", (look.exit_, bool(look.error)), (0, False))
    result = schemas.result(client, number, TraceResult)
    check("transactions", len(result.transactions), 5)
    for one in result.transactions:
        check("root", (one.root.method, [c.method for c in one.root.children]), ("checkout", ["price"] * 3))
        check("calls of a transaction", one.calls, 4)
    return number


def monitor(client, pid, schemas):
    number = started(client, start_monitor, MonitorRequest(pid=pid, methods=[CHECKOUT], background=True))
    checkout(100)
    ended(client, number)
    result = schemas.result(client, number, MonitorDocument)
    check("rows", [(r.pattern, r.calls) for r in result.rows], [(CHECKOUT, 100)])


def profile(client, pid, schemas):
    number = started(client, start_profile, ProfileRequest(pid=pid, root=[CHECKOUT], background=True))
    checkout(100)
    ended(client, number)
    schemas.result(client, number, ProfileDocument)
    page = get_result.sync(number, client=client, format_="html")
    check("the page", (type(page), page.payload.read(15).lower()), (File, b"<!doctype html>"))


def apply(client, pid, schemas):
    probes = "version: 1\nprobes:\n  - name: checkouts\n    methods: shop.Shop.checkout\n    level: count\n"
    number = started(client, start_apply, ApplyRequest(pid=pid, probes=probes, background=True))
    checkout(7)
    status = get_status.sync(number, client=client)
    check("status", (type(status), [(p.name, p.calls) for p in status.probes]), (Status, [("checkouts", 7)]))
    applied = get_probes.sync(number, client=client)
    check("the probes name their methods", "shop.Shop.checkout" in applied, True)
    changed = applied.replace("checkouts", "carts").encode()
    outcome = set_probes.sync(number, client=client, body=File(payload=changed), dry_run=True)
    check("what would change", (type(outcome), outcome.woven), (Outcome, 0))
    ended(client, number)
    schemas.result(client, number, ApplyDocument)


def refusals(client, address, pid, number):
    check("ending again", type(end_look.sync(number, client=client)), Problem)
    answer = start_count.sync_detailed(client=client, body=CountRequest(pid=pid, methods=[], sort="beauty", background=True))
    check("a wrong option", (answer.status_code, type(answer.parsed)), (HTTPStatus.BAD_REQUEST, Problem))
    answer = get_look.sync_detailed(99999, client=client)
    check("no such look", (answer.status_code, type(answer.parsed)), (HTTPStatus.NOT_FOUND, Problem))
    answer = list_looks.sync_detailed(client=Client(base_url=address))
    check("no token", (answer.status_code, type(answer.parsed)), (HTTPStatus.UNAUTHORIZED, Problem))


def foreground(client, pid):
    """A look in the foreground answers with its events."""
    events = start_trace.sync(client=client, body=TraceRequest(pid=pid, methods=["shop.Shop.main"], duration="1ms"))
    names = [line.removeprefix("event: ") for line in events.splitlines() if line.startswith("event: ")]
    check("first and last event", (names[0], names[-1]), ("look", "end"))


def main():
    address, token_file, socket, pid, document = sys.argv[1:]
    pid, schemas = int(pid), Schemas(document)
    with open(token_file, encoding="ascii") as file:
        by_token = AuthenticatedClient(base_url=address, token=file.read().strip(), timeout=httpx.Timeout(PATIENCE))
    by_socket = Client(base_url="http://sonde", timeout=httpx.Timeout(PATIENCE), httpx_args={"transport": httpx.HTTPTransport(uds=socket)})

    counted = count(by_token, pid, schemas)
    traced = trace(by_socket, pid, schemas)
    check("two clients reach one service", get_service.sync(client=by_token), get_service.sync(client=by_socket))
    running = started(by_token, start_count, CountRequest(pid=pid, methods=[CHECKOUT], background=True, timing="none"))
    looks = list_looks.sync(client=by_socket).looks
    check("the looks", [(l.number, l.kind, l.state.value) for l in looks],
          [(running, "count", "running"), (traced, "trace", "ended"), (counted, "count", "ended")])
    ended(by_socket, running)
    check("the look that was ended", get_look.sync(running, client=by_token).state, LookState.ENDED)
    monitor(by_socket, pid, schemas)
    profile(by_token, pid, schemas)
    apply(by_token, pid, schemas)
    foreground(by_socket, pid)
    refusals(by_token, address, pid, running)
    answer = get_events.sync_detailed(running, client=by_token)
    check("events of a look that has ended", (answer.status_code, type(answer.parsed)), (HTTPStatus.CONFLICT, Problem))
    print("passed", flush=True)


main()
