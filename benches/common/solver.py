"""Rule-based solver of the tasks: it sees the goal and the answers of the tools, and nothing else.

A goal is a list of steps in the words of a person ("click Save", "fill City below Billing address"). For each step the solver finds the
element by role and name in the last tree that it was given, acts on its reference, and takes a new tree when the old one may be out of
date. If an element is missing, it reads the whole page, waits for its text, and looks into the newest tab. A failed step is repeated
once with a new tree. All contestants are driven by these same rules.
"""

import re
import time
from urllib.parse import urljoin

from contestants import fast

EDITABLE = {"textbox", "searchbox", "combobox", "spinbutton", "slider", "Date", "InputTime", "DateTime", "ColorWell"}
EDITABLE |= {"date", "time", "datetime-local", "month", "week", "color", "range", "textarea", "input"}
# A paragraph of an editor may be a document of its own.
EDITABLE |= {"document"}
PRESSABLE = {"button", "link", "tab", "menuitem", "option", "treeitem", "switch", "checkbox", "radio", "gridcell", "combobox"}
PRESSABLE |= {"slider", "clickable", "DisclosureTriangle", "summary"}
CHECKABLE = {"checkbox", "radio", "switch", "menuitemcheckbox"}
# A widget for a list may be a button.
CHOOSABLE = {"combobox", "listbox", "select", "button", "clickable"}
TEXTS = {"text", "StaticText", "InlineTextBox", "LabelText"}
# Roles of rows and other groups, whose names repeat the texts of the elements in them.
GROUPS = {"row", "rowgroup", "table", "list", "listitem", "group", "region", "main", "LayoutTableRow"}
DOCUMENTS = {"RootWebArea", "WebArea"}

PREFERRED = {"fill": EDITABLE, "type": EDITABLE, "select_text": EDITABLE, "check": CHECKABLE, "choose": CHOOSABLE}

ROWS, HEADS, CELLS = {"row", "LayoutTableRow"}, {"columnheader"}, {"cell", "gridcell", "rowheader", "columnheader", "LayoutTableCell"}
# The state of an open node of a tree, and the marks that open one.
OPEN = re.compile(r"\bexpanded(?!=false)\b")
MARK = re.compile(r"caret|expand|toggle|switcher|chevron|^$", re.IGNORECASE)
ICON = re.compile(r"icon|caret|expand|toggle|switcher|chevron", re.IGNORECASE)
# What tools call the state of the element that takes keys. Where one says `focused`, `active` is the chosen one of several.
FOCUS = (re.compile(r"\bfocused\b"), re.compile(r"\bactive\b"))

FIELD_VERBS = ("fill", "type", "choose", "select_text")
# What an answer may name as the element in front of the one that was meant.
# A box is no control: it may be anything, such as a banner.
COVER = re.compile(r"covered by (?!div\b|span\b)[\w-]+[^;\n]* \[ref=(\w+)\]")
# What an answer says of a list that a widget stands for.
UNSEEN = re.compile(r"hidden|not visible|nobody can see", re.IGNORECASE)

# Repetitions of a "next page" button, of scrolling, and of reading a text that comes late.
MOST_PAGES, MOST_SCROLLS, MOST_READS = 12, 12, 3
PATIENCE = 4
RETRY_PAUSE_S = 1


def attempt(contestant, goal, url, selectors, complaint):
    """Makes one attempt at a task and returns what was counted. `complaint` says what is wrong with the result, or returns None."""
    contestant.answers.clear()
    solver = Solver(contestant, goal, selectors)
    try:
        reason = solver.solve(url)
    except fast.Failed as error:
        reason = f"the contestant ended: {error}"
    wrong = complaint()
    answers = contestant.answers
    if reason is None and wrong:
        reason = f"false done: {wrong}"
    last = ["last: " + one.call[:100] + " -> " + one.text[:300] for one in answers[-3:]]
    return {
        "solved": wrong is None,
        "by_reference": wrong is None and not solver.used_selector,
        "false_done": wrong is not None and reason.startswith("false done") and not solver.failures,
        "reason": reason,
        "wrong": wrong,
        "failures": [*solver.failures, *(last if wrong else [])],
        "list_bytes": contestant.list_bytes,
        "calls": len(answers),
        "bytes": sum(len(answer.text.encode()) for answer in answers),
        "seconds": sum(answer.took for answer in answers),
        "answers": [(answer.call, answer.text) for answer in answers],
    }


def nothing(reason):
    """Returns what is counted where no attempt could be made."""
    counted = {"calls": 0, "bytes": 0, "seconds": 0, "answers": []}
    return {"solved": False, "by_reference": False, "false_done": False, "reason": reason, "wrong": reason, "failures": [], "list_bytes": None} | counted


class GaveUp(Exception):
    """The solver has no rule left for a step."""


def plain(text):
    """Returns a text in lower case, with single blanks and without punctuation at its end."""
    return re.sub(r"\s+", " ", text).strip().rstrip(":*").strip().lower()


class Solver:
    """One attempt at one task."""

    def __init__(self, contestant, goal, selectors):
        self.contestant, self.goal, self.selectors = contestant, goal, selectors
        self.tree, self.is_old, self.is_full = None, True, False
        self.variables, self.used_selector, self.failures = {}, False, []
        self.home = None

    def solve(self, url):
        """Works through the goal. Returns the reason why it gave up, or None."""
        self.home = url
        try:
            self.expect(self.contestant.open(url))
            self.changed(self.contestant.answers[-1])
            for step in self.goal:
                self.step(step)
        except GaveUp as reason:
            return str(reason)
        return None

    def step(self, step):
        step = {key: self.variables.get(value[1:], value) if isinstance(value, str) and value[:1] == "$" else value for key, value in step.items()}
        verb = next(iter(step))
        try:
            getattr(self, f"do_{verb}")(step)
        except GaveUp:
            if not step.get("optional"):
                raise

    # --- reading ---------------------------------------------------------------

    def look(self, full):
        answer = self.contestant.look(full)
        self.tree = self.contestant.tree(answer) if answer.ok else None
        self.is_old, self.is_full = not answer.ok, full or not self.contestant.full_looks
        if not answer.ok:
            self.failures.append(f"{answer.call}: {answer.text[:200]}")
        return self.tree

    def changed(self, answer):
        """Notes that the page may have changed. Some contestants answer with the new tree."""
        given = self.contestant.tree(answer) if answer.ok else None
        if given is not None:
            self.tree, self.is_old, self.is_full = given, False, not self.contestant.full_looks
        else:
            self.is_old = True

    def trees(self, name, may_wait=True):
        """Yields trees, from the cheapest to the most expensive to get."""
        if self.tree is not None and not self.is_old:
            yield self.tree
        yield self.look(False)
        if self.contestant.full_looks:
            yield self.look(True)
        if may_wait:
            came = self.contestant.wait_text(name) if name else self.contestant.pause(1)
            yield self.look(self.contestant.full_looks)
            if came.ok and name:
                # The text is there, so its element is still on its way.
                time.sleep(RETRY_PAUSE_S)
                yield self.look(self.contestant.full_looks)
            before = len(self.contestant.answers)
            switched = self.contestant.newest_tab()
            if len(self.contestant.answers) > before + 1 and switched.ok:
                yield self.look(False)
                yield self.look(True)

    def find(self, step, verb, name=None):
        name = step[verb] if name is None else name
        weak = None
        for tree in self.trees(name, not step.get("reload_if_missing") and not step.get("optional")):
            found = choose(tree, name, verb, step, self.is_full) if tree else None
            if found is None and weak is not None:
                return weak
            if found is not None and weak is not None and name_score(found, name) <= name_score(weak, name):
                return weak
            if found is not None and (name == "" or self.is_full or not is_weak(found, name)):
                return found
            # A group may hold the name among others, and a longer look may have the element itself.
            weak = found or weak
        if weak is not None:
            return weak
        if step.get("reload_if_missing"):
            self.contestant.reload()
            self.is_old = True
            return self.find({key: value for key, value in step.items() if key != "reload_if_missing"}, verb)
        return None

    # --- acting ----------------------------------------------------------------

    def expect(self, answer):
        if not answer.ok:
            self.failures.append(f"{answer.call}: {answer.text[:300]}")
            raise GaveUp(f"`{answer.call}` failed: {answer.text[:300]}")

    def act(self, step, verb, do, changes):
        """Acts on the element of a step: once, and if that fails, again with a new tree."""
        node = self.find(step, verb)
        if node is None:
            self.by_selector(step, verb, do, changes)
            return
        tries = PATIENCE if step.get("patient") else 2
        for attempt in range(tries):
            answer = do(self.contestant.reference(node.ref))
            if answer.ok:
                self.changed(answer) if changes else None
                return
            self.failures.append(f"{answer.call}: {answer.text[:300]}")
            cover = COVER.search(answer.text) if verb in ("click", "dblclick", "right_click") else None
            if cover:
                answer = do(self.contestant.reference(cover[1]))
                if answer.ok:
                    self.changed(answer) if changes else None
                    return
            if attempt + 1 == tries:
                break
            if "covered_by" in step:
                self.step({"click": step["covered_by"]})
            elif step.get("patient"):
                self.contestant.pause(1)
            # An agent needs time before it tries again.
            time.sleep(RETRY_PAUSE_S)
            self.is_old = True
            node = self.find(step, verb) or node
        self.by_selector(step, verb, do, changes, answer)

    def by_selector(self, step, verb, do, changes, failed=None):
        """Tries selectors, if that is allowed; gives up otherwise."""
        if self.selectors and step[verb]:
            for selector in self.contestant.selector(step.get("role"), step[verb]):
                answer = do(selector)
                if answer.ok:
                    self.used_selector = True
                    self.changed(answer) if changes else None
                    return
        if failed is not None:
            raise GaveUp(f"`{failed.call}` failed: {failed.text[:300]}")
        raise GaveUp(f"no element for {step}")

    def do_click(self, step):
        if "modifiers" in step:
            self.act(step, "click", lambda target: self.contestant.click_with(target, step["modifiers"]), True)
            return
        for _ in range(int(step.get("times", 1))):
            self.act(step, "click", self.contestant.click, True)
            if step.get("times"):
                # The element is the same, and only numbers beside it change.
                self.is_old = False if self.tree else self.is_old
        self.is_old = True if step.get("times") else self.is_old

    def do_dblclick(self, step):
        self.act(step, "dblclick", self.contestant.dblclick, True)

    def do_hover(self, step):
        self.act(step, "hover", self.contestant.hover, True)

    def do_fill(self, step):
        def fill(target):
            answer = self.contestant.fill(target, step["with"])
            if not answer.ok and "or" in step:
                answer = self.contestant.fill(target, step["or"])
            return answer

        self.act(step, "fill", fill, False)

    def do_type(self, step):
        self.act(step, "type", lambda target: self.contestant.type(target, step["keys"]), True)

    def do_press(self, step):
        for _ in range(int(step.get("times", 1))):
            answer = self.contestant.press(step["press"])
            self.expect(answer)
        self.changed(answer)

    def do_choose(self, step):
        """Chooses options: of a list of the browser at once, and of a widget by a press on it and on each of them."""
        options = step["option"] if isinstance(step["option"], list) else [step["option"]]
        node = self.find(step, "choose")
        if node is None:
            raise GaveUp(f"no element for {step}")
        if is_native(node):
            answer = self.contestant.select(self.contestant.reference(node.ref), options)
            if answer.ok:
                return
            self.failures.append(f"{answer.call}: {answer.text[:300]}")
            if not UNSEEN.search(answer.text):
                # Its options may come late.
                time.sleep(RETRY_PAUSE_S)
                self.is_old = True
                self.act(step, "choose", lambda target: self.contestant.select(target, options), False)
                return
            # A widget stands for the list, right behind it.
            following = self.tree.nodes[node.place + 1 :] if self.tree else []
            node = next((other for other in following if other.ref and other.role in PRESSABLE and not is_native(other)), node)
        answer = self.contestant.click(self.contestant.reference(node.ref))
        self.expect(answer)
        self.changed(answer)
        for option in options:
            self.do_click({"click": option, "role": "option"})

    def do_check(self, step):
        self.act(step, "check", lambda target: self.contestant.check(target, True), False)

    def do_uncheck(self, step):
        self.act(step | {"check": step["uncheck"]}, "check", lambda target: self.contestant.check(target, False), False)

    def do_select_text(self, step):
        self.act(step, "select_text", self.contestant.select_text, False)

    def do_point(self, step):
        x, y = map(int, step["at"])
        self.act(step, "point", lambda target: self.contestant.point(target, x, y), True)

    def do_drag(self, step):
        def drag(source):
            node = self.find({"drag_to": step["to"], **({"near": step["to_near"], "nth": step["to_nth"], "looks": step.get("looks")} if "to_near" in step else {})}, "drag_to")
            if node is None:
                raise GaveUp(f"no element `{step['to']}` to drop on")
            return self.contestant.drag(source, self.contestant.reference(node.ref))

        if self.is_old:
            # Both elements must be in one tree.
            self.look(True)
        self.act(step, "drag", drag, True)

    def do_expand(self, step):
        """Opens a node of a tree, by the mark beside it or by the key for it."""
        for tree in self.trees(step["expand"]):
            item = branch(tree, step["expand"]) if tree else None
            if item is None:
                continue
            if OPEN.search(item.flags):
                return
            target = mark_of(tree, item)
            answer = self.contestant.click(self.contestant.reference((target or item).ref))
            self.expect(answer)
            if target is None:
                answer = self.contestant.press("ArrowRight")
                self.expect(answer)
            self.changed(answer)
            return
        raise GaveUp(f"no element for {step}")

    def do_scroll_inside(self, step):
        """Scrolls a list that is smaller than what is in it until a text is there."""
        for _ in range(MOST_SCROLLS):
            if self.sees(step["until"]):
                return
            node = self.find(step, "scroll_inside")
            if node is None:
                raise GaveUp(f"no element for {step}")
            group = node.ancestors()[1:3][-1:]
            last = next((other for other in reversed(self.tree.nodes) if other.ref and group and group[0] in other.ancestors()), node)
            self.expect(self.contestant.scroll_inside(self.contestant.reference(node.ref), self.contestant.reference(last.ref)))
            self.is_old = True
            # The list loads more meanwhile.
            time.sleep(RETRY_PAUSE_S)
        raise GaveUp(f"`{step['until']}` did not come")

    def do_back(self, _step):
        answer = self.contestant.back()
        self.expect(answer)
        self.changed(answer)

    def do_go(self, step):
        answer = self.contestant.open(urljoin(self.home, step["go"]))
        self.expect(answer)
        self.changed(answer)

    def do_see(self, step):
        """Makes sure that the page shows a text, which may take its time."""
        if self.tree is not None and not self.is_old and holds(self.tree, step["see"]):
            return
        for _ in range(PATIENCE):
            answer = self.contestant.wait_text(step["see"])
            if answer.ok:
                self.changed(answer)
                return
            tree = self.look(True)
            if tree is not None and holds(tree, step["see"]):
                return
        raise GaveUp(f"`{step['see']}` is not to be seen")

    def do_first_tab(self, _step):
        """Goes on in the page that opened a window, which has closed itself. Most tools are there already."""
        if self.look(False) is None:
            answer = self.contestant.first_tab()
            self.expect(answer)
            self.changed(answer)

    def do_pause(self, step):
        answer = self.contestant.pause(step["pause"])
        self.changed(answer)
        self.is_old = True

    def do_keys(self, step):
        """Types into the element that has the focus, as it is."""
        answer = self.contestant.type_focused(step["keys"])
        if answer is None:
            node = next((focused for tree in self.trees("", False) if tree and (focused := focused_of(tree))), None)
            if node is None:
                raise GaveUp("no element has the focus")
            answer = self.contestant.type(self.contestant.reference(node.ref), step["keys"])
        self.expect(answer)
        self.changed(answer)

    def do_right_click(self, step):
        self.act(step, "right_click", self.contestant.right_click, True)

    def do_select_words(self, step):
        words = step["select_words"]
        self.act(step | {"select_words": step.get("of", words)}, "select_words", lambda target: self.contestant.select_words(target, words), False)

    def do_dialog(self, step):
        answer = self.contestant.dialog(step["dialog"] == "accept", step.get("text"))
        if not answer.ok:
            # The dialog may have been answered already, so the next step decides.
            self.failures.append(f"{answer.call}: {answer.text[:300]}")
        self.changed(answer)

    def do_return_from_tab(self, _step):
        answer = self.contestant.leave_tab()
        self.expect(answer)
        self.changed(answer)

    def do_read(self, step):
        pattern = re.compile(step["read"])
        for attempt, tree in enumerate(self.reads()):
            found = pattern.search(tree.text()) if tree else None
            if found:
                self.variables[step["as"]] = found[1]
                return
        raise GaveUp(f"no text like `{step['read']}` after {attempt + 1} looks")

    def reads(self):
        """Yields trees with texts, at last with pauses between them."""
        if self.tree is not None and not self.is_old:
            yield self.tree
        yield self.look(True)
        self.contestant.pause(1)
        yield self.look(True)
        before = len(self.contestant.answers)
        self.contestant.newest_tab()
        if len(self.contestant.answers) > before + 1:
            yield self.look(True)
        for _ in range(MOST_READS):
            self.contestant.pause(1)
            yield self.look(True)

    def do_repeat(self, step):
        for _ in range(MOST_PAGES):
            if self.sees(step["until"]):
                return
            self.act(step, "repeat", self.contestant.click, True)
        raise GaveUp(f"`{step['until']}` did not come")

    def do_scroll_until(self, step):
        for _ in range(MOST_SCROLLS):
            if self.sees(step["scroll_until"]):
                return
            answer = self.contestant.press("End")
            self.expect(answer)
            self.is_old = True
            # The page loads more meanwhile.
            time.sleep(RETRY_PAUSE_S)
        raise GaveUp(f"`{step['scroll_until']}` did not come")

    def sees(self, text):
        """Returns true if the page shows a text: as an element, or anywhere in it."""
        tree = self.tree if self.tree is not None and not self.is_old else self.look(False)
        if tree is not None and holds(tree, text):
            return True
        if self.is_full:
            return False
        tree = self.look(True)
        return tree is not None and holds(tree, text)


def holds(tree, text):
    return re.search(rf"(^|\W){re.escape(text)}(\W|$)", tree.text()) is not None


# --- the choice of an element -------------------------------------------------


def choose(tree, name, verb, step, is_full):
    """Returns the node with a reference that fits best, or None."""
    wanted = PREFERRED.get(verb, PRESSABLE)
    if "row" in step:
        return in_row(tree, name, wanted, step)
    near = step.get("near") or step.get("in_group")
    anchors = anchors_of(tree, near)
    # Some tools say what an element stands beside without a line for that.
    if anchors == [] and not any(plain(node.near) == plain(near) for node in tree.nodes):
        return None
    if name == "":
        return nameless(tree, anchors, int(step["nth"]), step.get("looks"))
    # A short list without levels does not say what belongs together.
    is_flat = not is_full and all(node.depth == tree.nodes[0].depth for node in tree.nodes)
    scored = []
    for node in tree.nodes:
        if node.ref is None or node.role in DOCUMENTS or (node.role == "document" and node.parent is None and node.children):
            continue
        if near and is_flat and plain(node.near) != plain(near):
            continue
        if step.get("role") == "option" and node.role in CELLS:
            # Choices are no cells of a table behind them.
            continue
        score = name_score(node, name)
        if score == 0:
            continue
        score += 2 if node.role == step.get("role") else 1 if node.role in wanted else 0
        score -= 2 if node.role in TEXTS else 1 if node.role in GROUPS and len(node.children) > 1 else 0
        # A field's own label is not the field.
        if verb in (*FIELD_VERBS, "check") and node.role not in wanted:
            score -= 3 if verb in ("choose", "check") else 1.5
        if anchors:
            # Some tools say themselves what an element stands beside.
            score += nearness(node, anchors) + (20 if near and plain(node.near) == plain(near) else 0)
        scored.append((score, -node.place, node))
    best = max(scored, key=lambda row: row[:2], default=(0, 0, None))
    if best[2] is not None and best[0] >= 1 and (verb not in FIELD_VERBS or best[2].role in wanted):
        return best[2]
    if verb in FIELD_VERBS and not (near and is_flat):
        # A place to write in may have no role, but its text is then the whole name.
        plain_text = best[2] if best[0] >= 1.5 and best[2].role not in PRESSABLE else None
        return field_after(tree, name, {step["role"]} if "role" in step else wanted) or plain_text
    return best[2] if best[0] > 0.4 else None


def name_score(node, name):
    """Returns from 0 to 4 how well a node's name fits."""
    own, wanted = plain(node.name), plain(name)
    if not own and plain(node.beside) == wanted:
        return 2
    label = plain(node.label()) if len(node.children) < 6 else ""
    for weight, given in ((1, own), (0.9, plain(node.text)), (0.9, plain(node.placeholder)), (0.8, label)):
        if given == wanted:
            return 4 * weight
        if given and re.search(rf"(^|\W){re.escape(wanted)}(\W|$)", given):
            # A name that holds the wanted one and much more is a group's.
            return (2 if given.startswith(wanted) else 1.5) * weight * max(0.4, len(wanted) / len(given))
    return 0


def is_weak(node, name):
    """Returns true if a node shows much more than a name."""
    return name_score(node, name) < 1 and node.role in GROUPS - {"listitem"} | {"clickable", "generic"}


def anchors_of(tree, near):
    """Returns the smallest nodes that show a text, or None if no text was given."""
    if not near:
        return None
    exact = [node for node in tree.nodes if plain(near) in (plain(node.name), plain(node.text))]
    return exact or [node for node in tree.nodes if name_score(node, near) > 0]


def shared_depth(node, anchor):
    """Returns the number of ancestors that two nodes share."""
    mine = set(map(id, node.ancestors()))
    return sum(id(other) in mine for other in anchor.ancestors())


def nearness(node, anchors):
    """Returns a score that is higher for a node in the same group as an anchor, or right behind it."""
    best = -100
    for anchor in anchors:
        distance = node.place - anchor.place
        order = distance if distance >= 0 else 5 - 2 * distance
        best = max(best, shared_depth(node, anchor) * 3 - order / 20)
    return best


def nameless(tree, anchors, nth, looks):
    """Returns the nth element without a name behind an anchor in its group, or before it if the number is negative."""
    empty = [node for node in tree.nodes if node.ref and not node.label() and node.role not in TEXTS]
    if looks and any(looks in node.states for node in empty):
        empty = [node for node in empty if looks in node.states]
    # The outermost of nested ones, such as a button around its picture.
    empty = [node for node in empty if not any(parent in empty for parent in node.ancestors()[1:])]
    for anchor in anchors or []:
        deepest = max((shared_depth(node, anchor) for node in empty), default=0)
        group = [node for node in empty if shared_depth(node, anchor) == deepest and (node.place > anchor.place) == (nth > 0)]
        if len(group) >= abs(nth):
            return group[nth - 1 if nth > 0 else nth]
    return None


def is_native(node):
    """Returns true if a tree shows the options of a closed list, as all tools do for those of the browser."""
    return "[options=" in node.states or "disabled" in node.flags or node.role in ("select", "listbox") or any(child.role == "option" for child in node.children)


def focused_of(tree):
    """Returns the innermost element that has the focus."""
    found = (node for word in FOCUS for node in reversed(tree.nodes) if node.ref and word.search(node.flags))
    return next(found, None)


def branch(tree, name):
    """Returns the node of a tree with a name."""
    fitting = [node for node in tree.nodes if node.role == "treeitem" and node.ref and name_score(node, name) > 0]
    return max(fitting, key=lambda node: name_score(node, name), default=None)


def mark_of(tree, item):
    """Returns the mark beside a node of a tree, which opens it: behind the node and before the next one, or directly before the node."""
    behind = []
    for node in tree.nodes[item.place + 1 :]:
        if node.role == "treeitem":
            break
        behind.append(node)
    before = [node for node in tree.nodes[max(0, item.place - 1) : item.place] if ICON.search(node.states)]
    for node in [*before, *behind]:
        if node.ref and node.role not in CHECKABLE | {"tree", "treeitem", "link"} and MARK.search(node.label()):
            return node
    return None


def in_row(tree, name, wanted, step):
    """Returns an element of the row that shows a text: the one with a name, that of a column, or the first that fits."""
    for anchor in anchors_of(tree, step["row"]):
        row = next((node for node in anchor.ancestors() if node.role in ROWS), None)
        if row is None or not row.children:
            continue
        inside = [node for node in tree.nodes if row in node.ancestors()]
        if "column" in step:
            cell = cell_below(tree, row, step["column"])
            inside = [node for node in inside if cell in node.ancestors()] if cell else []
        fitting = [node for node in inside if node.ref and node is not row]
        if name:
            fitting = [node for node in fitting if name_score(node, name) > 0]
        best = next((node for node in fitting if node.role in wanted), None) or next(iter(fitting), None)
        if best is not None:
            return best
    return None


def cell_below(tree, row, column):
    """Returns the cell of a row that stands below a head."""
    for head in tree.nodes:
        if head.role in HEADS and plain(column) in (plain(head.label()), plain(head.name)) and head.parent is not None:
            # What fills a cell, such as a box, may stand for it.
            heads, cells = ([node for node in line.children if node.role not in TEXTS] for line in (head.parent, row))
            # Heads of rows may stand in a table of their own.
            place = heads.index(head) - max(0, len(heads) - len(cells))
            if 0 <= place < len(cells):
                return cells[place]
    return None


def field_after(tree, name, wanted):
    """Returns the first field behind a text that is its label in all but markup."""
    exact = [node for node in tree.nodes if plain(name) in (plain(node.name), plain(node.text))]
    for anchor in exact or [node for node in tree.nodes if name_score(node, name) > 0]:
        for node in tree.nodes[anchor.place :]:
            if node.ref and node.role in wanted:
                return node
    return None
