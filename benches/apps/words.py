"""The words in which tasks are written: what a person would do, with the names that a person sees."""


def click(name, **more):
    return {"click": name, **more}


def dblclick(name, **more):
    return {"dblclick": name, **more}


def right_click(name, **more):
    return {"right_click": name, **more}


def hover(name, **more):
    return {"hover": name, **more}


def fill(name, text, **more):
    return {"fill": name, "with": text, **more}


def type_in(name, text, **more):
    return {"type": name, "keys": text, **more}


def press(key, times=1):
    return {"press": key, "times": times}


def choose(name, *options, **more):
    return {"choose": name, "option": list(options), **more}


def check(name, **more):
    return {"check": name, **more}


def uncheck(name, **more):
    return {"uncheck": name, **more}


def select_text(name, **more):
    return {"select_text": name, **more}


def drag(name, to, **more):
    return {"drag": name, "to": to, **more}


def see(text):
    """Waits until the page shows a text, as an agent does that makes sure."""
    return {"see": text}


def go(path):
    """Opens another page of the application by its address."""
    return {"go": path}


def read(pattern, name):
    """Reads a text by a pattern with one group; later steps have it as `$NAME`."""
    return {"read": pattern, "as": name}


def scroll_to(text):
    return {"scroll_until": text}


def dialog(answer, text=None):
    return {"dialog": answer, **({"text": text} if text else {})}
