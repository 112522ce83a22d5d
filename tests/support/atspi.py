"""A client of AT-SPI, as a screen reader is one: it knows what the accessibility bus tells alone.

Debian's at-spi2-core starts that bus, when the bus of a session is asked for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from jeepney import DBusAddress, MatchRule, Properties, message_bus, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

T = TypeVar("T")
ATSPI = "org.a11y.atspi"
SHOWING, CHECKED, FOCUSED = 25, 4, 12
"""Bits of a state."""
KEYS = {"Tab": 0xFF09, "Enter": 0xFF0D, "Space": 0x20, "Down": 0xFF54, "Esc": 0xFF1B}
KEY_SYM = 3
POLL_S = 0.1


@dataclass(frozen=True)
class Thing:
    """An object of the tree: the program's name on the bus, and a path."""

    owner: str
    path: str


class Reader:
    """Reads the trees of all programs, acts on what it finds there, and hears announcements."""

    def __init__(self, session_bus: str) -> None:
        """``session_bus`` is the address of the session's bus."""
        session = open_dbus_connection(session_bus)
        bus = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
        address = session.send_and_get_reply(new_method_call(bus, "GetAddress")).body[0]
        session.close()
        self._bus: DBusConnection = open_dbus_connection(address)
        self._ears: DBusConnection = open_dbus_connection(address)
        """Apart, so that an answer is never waited for behind announcements."""
        heard = MatchRule(type="signal", interface=f"{ATSPI}.Event.Object", member="Announcement")
        self._ears.send_and_get_reply(message_bus.AddMatch(heard))
        self._root = Thing(f"{ATSPI}.Registry", "/org/a11y/atspi/accessible/root")

    def listen(self) -> None:
        """Ask for announcements, once the program runs: as it starts, Qt may miss it."""
        registry = DBusAddress("/org/a11y/atspi/registry", f"{ATSPI}.Registry", f"{ATSPI}.Registry")
        self._bus.send_and_get_reply(
            new_method_call(registry, "RegisterEvent", "s", ("Object:Announcement",))
        )

    # ---- what is there

    def call(self, thing: Thing, interface: str, name: str, form: str = "", *body: Any) -> Any:
        """Call a method and return its one answer."""
        address = DBusAddress(thing.path, thing.owner, f"{ATSPI}.{interface}")
        answer = self._bus.send_and_get_reply(new_method_call(address, name, form or None, body))
        if answer.header.message_type.name == "error":
            raise LookupError(f"{thing}: {answer.body}")
        return answer.body[0] if answer.body else None

    def get(self, thing: Thing, interface: str, name: str) -> Any:
        """Return a property."""
        address = DBusAddress(thing.path, thing.owner, f"{ATSPI}.{interface}")
        answer = self._bus.send_and_get_reply(Properties(address).get(name))
        if answer.header.message_type.name == "error":
            raise LookupError(f"{thing}: {answer.body}")
        return answer.body[0][1]

    def role(self, thing: Thing) -> str:
        """Return what kind of thing it is."""
        return str(self.call(thing, "Accessible", "GetRoleName"))

    def name(self, thing: Thing) -> str:
        """Return its name."""
        return str(self.get(thing, "Accessible", "Name"))

    def description(self, thing: Thing) -> str:
        """Return what is said of it besides."""
        return str(self.get(thing, "Accessible", "Description"))

    def label(self, thing: Thing) -> str:
        """Return the name of what labels it; empty without."""
        for relation, others in self.call(thing, "Accessible", "GetRelationSet"):
            if relation == 2:  # labelled by
                return self.name(Thing(*others[0]))
        return ""

    def is_in_state(self, thing: Thing, bit: int) -> bool:
        """Return whether it is SHOWING, or CHECKED."""
        low, high = self.call(thing, "Accessible", "GetState")
        return bool((low | high << 32) >> bit & 1)

    def focus(self, within: Thing) -> Thing:
        """Return what has the focus; LookupError for nothing. (Qt says so of every front tab.)"""
        for thing in self.inside(within):
            if self.is_in_state(thing, FOCUSED) and self.role(thing) != "page tab":
                return thing
        raise LookupError("nothing has the focus")

    def inside(self, thing: Thing) -> Iterator[Thing]:
        """Yield what a user sees inside, in its order."""
        for owner, path in self.call(thing, "Accessible", "GetChildren"):
            child = Thing(owner, path)
            try:
                showing = self.is_in_state(child, SHOWING)
            except LookupError:  # it is gone since
                continue
            if showing:
                yield child
                yield from self.inside(child)

    def window(self, name: str) -> Thing:
        """Return the window of a title; LookupError while there is none."""
        for program in self.call(self._root, "Accessible", "GetChildren"):
            for found in self.call(Thing(*program), "Accessible", "GetChildren"):
                if self.name(Thing(*found)) == name:
                    return Thing(*found)
        raise LookupError(f"no window {name!r}")

    def find(self, within: Thing, role: str, *, name: str = "", label: str = "") -> Thing:
        """Return what is seen with a role, and a beginning of its name or its label.

        LookupError for nothing.
        """
        for thing in self.inside(within):
            if self.role(thing) != role or not self.name(thing).startswith(name):
                continue
            if not label or self.label(thing) == label:
                return thing
        raise LookupError(f"no {role} {name or label!r} is seen")

    # ---- what is done

    def act(self, thing: Thing, action: str) -> None:
        """Do one of the things that it offers, by its name."""
        offered = [name for name, *_ in self.call(thing, "Action", "GetActions")]
        self.call(thing, "Action", "DoAction", "i", offered.index(action))

    def press(self, *keys: str) -> None:
        """Press keys, one after the other: characters, or one of KEYS."""
        for key in keys:
            controller = Thing(
                f"{ATSPI}.Registry", "/org/a11y/atspi/registry/deviceeventcontroller"
            )
            symbol = KEYS.get(key) or ord(key)
            self.call(
                controller, "DeviceEventController", "GenerateKeyboardEvent", "isu", symbol, "",
                KEY_SYM,
            )  # fmt: skip

    def hear(self, timeout_s: float) -> str:
        """Return the next announcement; TimeoutError for silence."""
        limit = time.monotonic() + timeout_s
        while (left_s := limit - time.monotonic()) > 0:
            message = self._ears.receive(timeout=left_s)
            if message.header.message_type.name == "signal" and len(message.body) > 3:
                return str(message.body[3][1])
        raise TimeoutError


def eventually(look: Callable[[], T], timeout_s: float = 60.0) -> T:
    """Return what a look finds once it raises LookupError no more."""
    limit = time.monotonic() + timeout_s
    while True:
        try:
            return look()
        except LookupError:
            if time.monotonic() > limit:
                raise
            time.sleep(POLL_S)
