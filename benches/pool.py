#!/usr/bin/env python3
"""Simulates a pool of pods, each of which serves some sessions, and prints how long sessions wait and what they cost.

    benches/pool.py --figures FILE                    with the times that `benches/compare --sizing --json FILE` measured
    benches/pool.py --first-call 0.2 --cold-start 9   with times of yours, in seconds
    benches/pool.py --help                            all settings

A session arrives, waits for a free slot, and lasts. It waits for its first page, too, and where no pod has a free slot, for the start of
a pod. The pool keeps `--spare` slots free, and ends a pod that was not used for a while. A pod can be lost: its sessions end, and come
back at once with the rest of their time. Arrivals are random (Poisson), with a rate for each hour of the day. Lengths are lognormal, so that few
sessions last much longer than most. The same seed gives the same figures.

Without spare slots, starts, losses and daily changes, and with exponential lengths, this is the queue M/M/c, whose waiting times
are known: `tests/it/pool.rs` compares the two.
"""

import argparse
import heapq
import json
import math
import random
import sys
from collections import deque
from dataclasses import dataclass, field

HOUR_S = 3600
DAY_S = 24 * HOUR_S
# An office's day: sessions that arrive in each hour, relative to the busiest.
OFFICE = [2, 1, 1, 1, 2, 5, 15, 40, 75, 95, 100, 90, 70, 85, 100, 95, 80, 50, 30, 20, 12, 8, 5, 3]
SPARES = [0, 2, 4, 8, 16, 32]


@dataclass
class Pool:
    """Settings of a run. Times are in seconds."""

    hourly: list  # sessions that arrive in each hour of the day
    length: object  # returns the length of a session, by a random number generator
    slots: int = 8  # sessions of a pod
    least: int = 1  # pods
    most: int = 100
    spare: int = 0  # free slots
    first_call: float = 0.0
    cold_start: float = 0.0
    unused: float = 600.0  # after which a pod ends
    lost_hours: float = math.inf  # mean time until a pod is lost
    days: int = 10  # of which the first does not count
    seed: int = 1


@dataclass(eq=False)
class Pod:
    since: float  # of its start
    is_ready: bool = False
    is_gone: bool = False
    unused_since: float = 0.0
    sessions: dict = field(default_factory=dict)  # as keys, in their order


@dataclass(eq=False)
class Session:
    arrived: float
    left: float  # of its length
    waited_for_start: bool = False
    began: float = 0.0


class Run:
    """One run of the simulation: a clock, a heap of events, and what was counted after the first day."""

    def __init__(self, pool):
        # Two generators, so that the same sessions arrive whatever happens to pods.
        self.pool, self.random, self.losses = pool, random.Random(pool.seed), random.Random(f"losses {pool.seed}")
        self.now, self.number, self.events = 0.0, 0, []
        self.pods, self.queue = [], deque()
        self.starting = 0
        self.waits, self.lost, self.cold = [], 0, 0
        self.pod_s, self.most_pods, self.end = 0.0, 0, pool.days * DAY_S

    def at(self, time, act, *arguments):
        # The number keeps events of the same time in order.
        self.number += 1
        heapq.heappush(self.events, (time, self.number, act, arguments))

    def counts(self):
        return self.now >= DAY_S

    def run(self):
        for _ in range(self.pool.least):
            self.start_pod(ready=True)
        self.fit()
        self.next_arrival()
        while self.events and self.events[0][0] <= self.end:
            self.now, _, act, arguments = heapq.heappop(self.events)
            act(*arguments)
        self.now = self.end
        for pod in self.pods:
            self.count_pod(pod)
        return self

    # --- arrivals ---

    def next_arrival(self):
        """Chooses the next arrival: candidates come at the highest rate, and each is taken by the rate of its hour."""
        highest = max(self.pool.hourly) / HOUR_S
        time = self.now
        while time <= self.end:
            time += self.random.expovariate(highest)
            rate = self.pool.hourly[int(time % DAY_S // HOUR_S)] / HOUR_S
            if self.random.random() * highest < rate:
                self.at(time, self.arrive, None)
                return

    def arrive(self, session):
        if session is None:
            self.next_arrival()
            session = Session(self.now, self.pool.length(self.random))
        self.queue.append(session)
        self.serve()
        self.fit()

    # --- sessions ---

    def serve(self):
        """Gives free slots to waiting sessions, in their order. The fullest pod is used first, so that others can end."""
        while self.queue:
            free = [pod for pod in self.pods if pod.is_ready and len(pod.sessions) < self.pool.slots]
            if not free:
                for session in self.queue:
                    session.waited_for_start = session.waited_for_start or self.starting > 0
                return
            pod = max(free, key=lambda pod: len(pod.sessions))
            session = self.queue.popleft()
            pod.sessions[session] = None
            session.began = self.now
            if self.counts():
                self.waits.append(self.now - session.arrived + self.pool.first_call)
                self.cold += session.waited_for_start
            self.at(self.now + session.left, self.leave, session, pod)

    def leave(self, session, pod):
        if pod.is_gone:
            return
        del pod.sessions[session]
        if not pod.sessions:
            pod.unused_since = self.now
            self.at(self.now + self.pool.unused, self.end_unused, pod)
        self.serve()
        self.fit()

    # --- pods ---

    def fit(self):
        """Starts as many pods as are missing for the sessions, those that wait, and the spare slots."""
        busy = sum(len(pod.sessions) for pod in self.pods)
        wanted = math.ceil((busy + len(self.queue) + self.pool.spare) / self.pool.slots)
        for _ in range(min(max(wanted, self.pool.least), self.pool.most) - len(self.pods)):
            self.start_pod(ready=False)
        if self.counts():
            self.most_pods = max(self.most_pods, len(self.pods))

    def start_pod(self, ready):
        pod = Pod(self.now)
        self.pods.append(pod)
        if math.isfinite(self.pool.lost_hours):
            self.at(self.now + self.losses.expovariate(1 / (self.pool.lost_hours * HOUR_S)), self.lose, pod)
        if ready or not self.pool.cold_start:
            pod.is_ready = True
        else:
            self.starting += 1
            self.at(self.now + self.pool.cold_start, self.become_ready, pod)

    def become_ready(self, pod):
        self.starting -= 1
        if not pod.is_gone:
            pod.is_ready, pod.unused_since = True, self.now
            self.at(self.now + self.pool.unused, self.end_unused, pod)
            self.serve()

    def end_unused(self, pod):
        """Ends a pod that was not used since, unless its slots are wanted."""
        if pod.is_gone or pod.sessions or self.now - pod.unused_since < self.pool.unused:
            return
        busy = sum(len(other.sessions) for other in self.pods)
        if len(self.pods) > self.pool.least and (len(self.pods) - 1) * self.pool.slots >= busy + self.pool.spare:
            self.remove(pod)
        else:
            self.at(self.now + self.pool.unused, self.end_unused, pod)

    def lose(self, pod):
        if pod.is_gone:
            return
        self.remove(pod)
        for session in pod.sessions:
            session.left -= self.now - session.began
            session.arrived, session.waited_for_start = self.now, False
            self.lost += self.counts()
            self.queue.append(session)
        self.serve()
        self.fit()

    def remove(self, pod):
        self.count_pod(pod)
        pod.is_gone = True
        self.pods.remove(pod)

    def count_pod(self, pod):
        self.pod_s += max(0.0, self.now - max(pod.since, DAY_S))


def result(run, price):
    """Returns the figures of a run."""
    waits = sorted(run.waits)
    pod_hours = run.pod_s / HOUR_S
    count = len(waits) - run.lost
    return {
        "spare": run.pool.spare,
        "sessions": count,
        "waited": sum(wait > run.pool.first_call for wait in waits) / len(waits),
        "cold": run.cold / len(waits),
        "mean_s": sum(waits) / len(waits),
        "p50_s": waits[int(0.5 * len(waits))],
        "p99_s": waits[int(0.99 * len(waits))],
        "lost": run.lost,
        "pods": pod_hours / ((run.pool.days - 1) * 24),
        "most_pods": run.most_pods,
        "cost": 1000 * price * pod_hours / count,
    }


def lognormal(median, tail):
    """Returns lengths with a median, of which one of a hundred is at least `tail` times as long."""
    sigma = math.log(tail) / 2.326
    return lambda generator: generator.lognormvariate(math.log(median), sigma)


def read_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--figures", metavar="FILE", help="measured times; `--first-call` and `--cold-start` come before them")
    add("--first-call", type=float, metavar="SEC", help="time of the first page of a session")
    add("--cold-start", type=float, metavar="SEC", help="time until a new pod serves")
    add("--pull", type=float, default=0, metavar="SEC", help="what a new pod takes besides: to be scheduled, and to get its image")
    add("--per-hour", default="120", metavar="N[,N...]", help="sessions in the busiest hour of an office's day, or 24 numbers")
    add("--length", type=float, default=180, metavar="SEC", help="median length of a session")
    add("--tail", type=float, default=15, help="how much longer than the median one session of a hundred lasts; 0 for exponential lengths with this mean")
    add("--slots", type=int, default=8, help="sessions of a pod")
    add("--least", type=int, default=1, help="pods that always run")
    add("--most", type=int, default=100, help="pods that can run")
    add("--spare", type=int, action="append", help=f"free slots that are kept; repeat it to compare (default: {SPARES})")
    add("--unused", type=float, default=600, metavar="SEC", help="time after which an unused pod ends")
    add("--lost-hours", type=float, default=math.inf, metavar="HOURS", help="mean time until a pod is lost")
    add("--price", type=float, default=0.1, help="of a pod for an hour")
    add("--days", type=int, default=10, help="days to simulate, of which the first does not count")
    add("--seed", type=int, default=1)
    add("--json", action="store_true", help="prints JSON instead of a table")
    return parser, parser.parse_args(arguments)


def pools(parser, options):
    """Yields the settings of each run."""
    figures = {}
    if options.figures:
        with open(options.figures, encoding="utf-8") as file:
            figures = json.load(file)
    first = figures.get("first_call_s") if options.first_call is None else options.first_call
    cold = figures.get("cold_start_s") if options.cold_start is None else options.cold_start
    if first is None or cold is None:
        parser.error("`--figures`, or both `--first-call` and `--cold-start`, must be given")
    rates = [float(part) for part in options.per_hour.split(",")]
    if len(rates) == 1:
        rates = [rates[0] * part / max(OFFICE) for part in OFFICE]
    if len(rates) != 24 or min(rates) < 0 or max(rates) == 0:
        parser.error("`--per-hour` must be one number, or 24")
    if options.days < 2 or options.slots < 1 or options.least > options.most or options.most < 1:
        parser.error("at least two days, one slot, and no fewer pods at most than at least")
    if options.tail:
        length = lognormal(options.length, options.tail)
    else:
        length = lambda generator: generator.expovariate(1 / options.length)
    for spare in options.spare or SPARES:
        yield Pool(
            rates, length, options.slots, options.least, options.most, spare, first, cold + options.pull, options.unused,
            options.lost_hours, options.days, options.seed,
        )


def main():
    parser, options = read_arguments(sys.argv[1:])
    results = [result(Run(pool).run(), options.price) for pool in pools(parser, options)]
    if options.json:
        print(json.dumps(results))
        return
    print("| spare slots | sessions | wait p50 | wait p99 | waited for a pod | lost | pods, mean | at most | cost of 1,000 sessions |")
    print("|" + "---|" * 9)
    for row in results:
        print(
            f"| {row['spare']} | {row['sessions']:,} | {row['p50_s']:.2f} s | {row['p99_s']:.2f} s | {row['cold']:.1%} | {row['lost']} "
            f"| {row['pods']:.1f} | {row['most_pods']} | {row['cost']:.2f} |"
        )


if __name__ == "__main__":
    main()
