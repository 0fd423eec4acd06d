"""What a stored report.html may do in a browser. Pure.

It was written by some tuner, some time, and lies where others may write: it gets an origin of its own (sandbox), so
that no script in it, whatever it is, can ask this server anything with the reader's credentials.
"""

from __future__ import annotations

import html
import re

_HASH = r"'sha256-[A-Za-z0-9+/]{43}='"
_OWN = re.compile(rf"default-src 'none'; style-src {_HASH}; script-src {_HASH}; img-src data:; [a-z' ;-]*")
_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_HEAD = 4096
_NO_SCRIPT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def report_policy(page: bytes) -> str:
    """Return the policy to serve a report with: its own, where that is the one that tuner writes, else no script."""
    found = _META.search(page[:_HEAD].decode("utf-8", "replace"))
    own = html.unescape(found[1]) if found else ""
    if _OWN.fullmatch(own):
        return f"{own}; frame-ancestors 'none'; sandbox allow-scripts"
    return f"{_NO_SCRIPT}; frame-ancestors 'none'; sandbox"
