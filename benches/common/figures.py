"""Figures of the benchmarks of tasks, and their table."""

import sys

BYTES_PER_TOKEN = 4


def print_failure(name, one):
    """Prints why an episode was not solved to standard error."""
    seed = f" {one['seed']}" if "seed" in one else ""
    print(f"{name}: {one['task']}{seed}: {one['reason']}\n    " + "\n    ".join(one["failures"]), file=sys.stderr, flush=True)


def summary(done):
    """Returns the figures of one contestant."""
    solved = [one for one in done if one["solved"]]
    count = max(1, len(solved))
    return {
        "episodes": len(done),
        "solved": len(solved),
        "by_reference": sum(one["by_reference"] for one in done),
        "false_done": sum(one["false_done"] for one in done),
        "list_bytes": done[0]["list_bytes"],
        "calls": sum(one["calls"] for one in solved) / count,
        "bytes": sum(one["bytes"] for one in solved) / count,
        "tokens": sum(one["bytes"] for one in solved) / count / BYTES_PER_TOKEN,
        "seconds": sum(one["seconds"] for one in solved) / count,
    }


def episode_of(one):
    """Returns what two contestants' attempts at the same thing have in common."""
    return one["task"], one.get("seed")


def print_table(results):
    head = ["contestant", "solved", "by references", "false done", "calls", "bytes", "tokens", "time", "tool list"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, done in results.items():
        of = summary(done)
        row = [name, f"{of['solved']} of {of['episodes']}", of["by_reference"], of["false_done"], f"{of['calls']:.1f}"]
        row += [f"{of['bytes']:.0f}", f"{of['tokens']:.0f}", f"{of['seconds']:.2f} s"]
        row.append(f"{of['list_bytes'] / BYTES_PER_TOKEN:.0f} tokens" if of["list_bytes"] else "none")
        print("| " + " | ".join(map(str, row)) + " |")
    common = set(map(episode_of, next(iter(results.values()))))
    for done in results.values():
        common &= {episode_of(one) for one in done if one["solved"]}
    print(f"\nCalls, bytes, tokens (bytes / {BYTES_PER_TOKEN}) and time are means of the solved episodes; time is that of the tool calls.")
    if len(results) > 1 and common:
        print(f"\nThe same {len(common)} episodes, which all of them solved:\n\n| contestant | calls | tokens | time |\n|---|---|---|---|")
        for name, done in results.items():
            of = summary([one for one in done if episode_of(one) in common])
            print(f"| {name} | {of['calls']:.1f} | {of['tokens']:.0f} | {of['seconds']:.2f} s |")
