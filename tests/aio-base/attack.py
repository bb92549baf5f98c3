#!/usr/bin/env python3
"""Attack test of the wall around a container.

It sends requests that the wall must refuse and the few that it must allow: only /mcp, /vnc/, /websockify and
POST /tickets, in their exact spelling, and with credentials only if they are configured. Requests are raw bytes,
because a client library would normalize the relevant spellings.
The attack does no harm if it finds a hole: requests that could act have an empty body, and nothing is closed, moved or
written. It never prints a credential and never skips a row silently. It needs Python 3.10 or newer, no packages, and
the attack_*.py files next to it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NoReturn

from attack_checks import no_check, ticket_of
from attack_http import Target
from attack_rows import CREDENTIALS, OK, Result, Row, Rows

HELP_END = """\
All rows are sent without credentials first. If the container requires
credentials and --token or --api-key is given, the rows that must be refused are
sent again with them (a valid token opens no other path), together with the rows
that they open.

exit code: 0 every response is as expected, 1 at least one is not,
           2 wrong usage or no server at URL

examples:
  attack.py http://localhost:8080
  attack.py http://localhost:8080 --token "$JWT"
  attack.py https://box.example.com --via-proxy --api-key "$KEY" --json
  attack.py http://localhost:8080 --serve
"""


# ---- the run ----


class Run:
    def __init__(self, target: Target, jobs: int, via_proxy: bool) -> None:
        self.target = target
        self.via_proxy = via_proxy
        self.pool = ThreadPoolExecutor(jobs)
        self.done = 0

    def send(self, row: Row, expected: frozenset[str], credentials: bytes) -> Result:
        if row.direct and self.via_proxy:
            return Result(row, expected, "-", "", "a proxy in front may respond itself")
        answer = self.target.exchange(row.request.replace(CREDENTIALS, credentials), bool(row.further), row.check is not no_check)
        self.done += 1
        if self.done % 50 == 0 and sys.stderr.isatty():
            print(f"\r{self.done} requests ", end="", file=sys.stderr, flush=True)
        problem = ""
        if answer.first not in expected:
            problem = f"expected {joined(expected)}"
        elif row.further and not set(answer.statuses[1:]) <= row.further:
            problem = f"further responses on the connection: expected {joined(row.further)}"
        return Result(row, expected, ", ".join(answer.statuses), problem or row.check(answer))

    def send_all(self, rows: list[Row], on: bool, credentials: bytes = b"") -> list[Result]:
        # With credentials, most responses are expected to be the same as without authentication.
        work = [(row, row.off if not on else row.opened or row.off if credentials else row.on) for row in rows]
        return list(self.pool.map(lambda item: self.send(*item, credentials), work))


def joined(statuses: frozenset[str]) -> str:
    return " or ".join(sorted(statuses))


def padded(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 3] + '...':<{width}}"


def probe(run: Run, rows: Rows) -> str:
    """Returns `on` if the container requires credentials, or `off`; exits if it is not reachable."""
    try:
        run.target.connect().close()
    except OSError as error:
        fail(f"cannot connect to {run.target.url}: {error}")
    status = rows.handshake(run.target, b"")
    return {"200": "off", "401": "on"}.get(status, f"POST /mcp returned `{status}`, not 200 or 401")


def fail(message: str) -> NoReturn:
    print(f"attack.py: {message}", file=sys.stderr)
    raise SystemExit(2)


def attack(options: argparse.Namespace, run: Run, rows: Rows) -> tuple[str, list[Result]]:
    found = probe(run, rows)
    auth = options.auth if options.auth != "auto" else found
    if auth not in ("on", "off"):
        fail(f"{auth}: pass --auth on or --auth off")
    credentials = b""
    if options.token:
        credentials = f"Authorization: Bearer {options.token}\r\n".encode()
    elif options.api_key:
        credentials = f"X-AIO-API-Key: {options.api_key}\r\n".encode()

    if auth == "on" and credentials:
        rows.handshake(run.target, credentials)
    listed = rows.all(options.random, options.seed)
    if auth == "off":
        return auth, run.send_all(listed, on=False)
    results = run.send_all(listed, on=True) + run.send_all(list(rows.wrong_credentials(options.token)), on=True)
    # `again` must be refused for every client, `opened` is what credentials open.
    again = [replace(row, group=f"with credentials: {row.group}") for row in listed if row.with_credentials]
    opened = [replace(row, group=f"with credentials: {row.group}") for row in listed if row.off != row.on and not row.with_credentials and CREDENTIALS in row.request]
    if not credentials:
        for row in again + opened + [Row("with credentials: a ticket", "the page and the WebSocket with a ticket", b"", OK, OK)]:
            results.append(Result(row, row.off, "-", "", "needs --token or --api-key"))
        return auth, results
    results += run.send_all(opened, True, credentials) + run.send_all(again, True, credentials)
    if options.serve:
        results += single_use(run, rows, credentials)
    ticket = ticket_of(run.target.exchange(rows.message("POST", "/tickets").replace(CREDENTIALS, credentials)))
    return auth, results + run.send_all([replace(row, group=f"with credentials: {row.group}") for row in rows.ticket(ticket)], True)


def single_use(run: Run, rows: Rows, credentials: bytes) -> list[Result]:
    """Sends each use of a ticket twice, one after the other: the first counts, the second does not."""
    results = []
    for listed in rows.ticket_uses():
        ticket = ticket_of(run.target.exchange(rows.message("POST", "/tickets").replace(CREDENTIALS, credentials)))
        results += [run.send(row, row.on, b"") for row in listed(ticket)]
    return results


# ---- the report ----


def report(results: list[Result], url: str, auth: str, seed: int) -> None:
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    paint = {"ok": "\33[32m", "BAD": "\33[1;31m", "skip": "\33[33m"}

    def show(result: Result) -> None:
        verdict = f"{result.verdict:<4}"
        if color:
            verdict = f"{paint[result.verdict]}{verdict}\33[0m"
        print(f"  {verdict}  {padded(result.row.name, 66)}  {padded(joined(result.expected), 26)}  {result.got}")
        if result.problem:
            print(f"        {result.problem}\n        sent: {result.row.request[:300]!r}")

    print(f"{url}, authentication {auth}, seed {seed}")
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.row.group, []).append(result)
    for group, members in groups.items():
        print(f"\n{group}\n        {'request':<66}  {'expected':<26}  got")
        skipped = Counter(result.skipped for result in members if result.skipped)
        for why, count in skipped.items():
            verdict = f"{paint['skip']}skip\33[0m" if color else "skip"
            print(f"  {verdict}  {count} rows: {why}")
        # Long groups are summarized.
        short = "random paths" in group or group.startswith("with credentials") and len(members) > 60
        for result in members:
            if not result.skipped and (result.problem or not short):
                show(result)
        good = Counter(result.got for result in members if result.verdict == "ok")
        if short and good:
            verdict = f"{paint['ok']}ok  \33[0m" if color else "ok  "
            print(f"  {verdict}  {sum(good.values())} requests, responses {', '.join(f'{got} ({count})' for got, count in good.most_common())}")
    counts = Counter(result.verdict for result in results)
    print(f"\n{counts['ok']} ok, {counts['BAD']} BAD, {counts['skip']} skipped")


def as_json(results: list[Result], url: str, auth: str, seed: int) -> str:
    counts = Counter(result.verdict for result in results)
    rows = [
        {
            "group": result.row.group, "request": result.row.name, "expected": sorted(result.expected), "got": result.got,
            "verdict": result.verdict, "why": result.problem or result.skipped or None,
        }
        for result in results
    ]  # fmt: skip
    summary = {name.lower(): counts[name] for name in ("ok", "BAD", "skip")}
    return json.dumps({"url": url, "auth": auth, "seed": seed, "summary": summary, "rows": rows}, indent=1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Checks from outside that a browser-shell container offers its\ntool and its screen, and nothing else.",
        epilog=HELP_END, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("url", metavar="URL", help="root URL of the container, such as http://localhost:8080")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--token", metavar="JWT", help="a valid JWT; also read from ATTACK_TOKEN", default=os.environ.get("ATTACK_TOKEN"))
    secret.add_argument("--api-key", metavar="KEY", help="a valid API key; also read from ATTACK_API_KEY", default=os.environ.get("ATTACK_API_KEY"))
    parser.add_argument("--auth", choices=("on", "off", "auto"), default="auto", help="expected authentication; auto: as detected (default)")
    parser.add_argument("--random", metavar="N", type=int, default=1000, help="number of random paths (default 1000)")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="seed of the random paths (default 1)")
    parser.add_argument("--via-proxy", action="store_true", help="a proxy is in front: skip rows that it may answer itself (foreign Hosts, malformed requests)")
    parser.add_argument("--serve", action="store_true", help="the server is `browser-shell serve`: a ticket counts once, and with tokens there is metadata")
    parser.add_argument("--insecure", action="store_true", help="do not check the certificate of an https URL")
    parser.add_argument("--jobs", metavar="N", type=int, default=8, help="parallel requests (default 8)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=30.0, help="timeout of a response (default 30)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    if options.jobs < 1 or options.random < 0 or options.timeout <= 0:
        parser.error("--jobs and --timeout must be positive, --random not negative")
    for secret_value in filter(None, (options.token, options.api_key)):
        if not re.fullmatch(r"[\x21-\x7e]+", secret_value):
            parser.error("a credential contains characters that are invalid in a header")
    return options


def main() -> int:
    options = arguments()
    try:
        target = Target(options.url, options.timeout, options.insecure)
    except ValueError as error:
        fail(str(error))
    rows = Rows(target.host, options.serve)
    run = Run(target, options.jobs, options.via_proxy)
    auth, results = attack(options, run, rows)
    if sys.stderr.isatty():
        print("\r\33[K", end="", file=sys.stderr)
    if options.json:
        print(as_json(results, target.url, auth, options.seed))
    else:
        report(results, target.url, auth, options.seed)
    return 1 if any(result.problem for result in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(2)
    except BrokenPipeError:
        os._exit(1)
