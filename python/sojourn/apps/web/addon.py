"""What mitmproxy runs within itself (``-s``): a line of JSON for each request that was answered.

It is read by the Python that mitmproxy comes with, so it stands alone: no other module of ours is there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def response(flow: Any) -> None:
    """Tell of a request and its answer; mitmproxy's hook of that name, called for flows of a file, too."""
    request, answer = flow.request, flow.response
    # Of a replay the port of the request is that at which nobody is; the browser asked the one that we listen at.
    replays = getattr(flow.client_conn.proxy_mode, "type_name", "") == "reverse"
    told = {
        "scheme": request.scheme,
        "host": request.pretty_host,
        "port": flow.client_conn.sockname[1] if replays else request.port,
        "method": request.method,
        "path": request.path,
        "status": answer.status_code,
        "bytes": len(answer.raw_content or b""),
        # What mitmproxy makes for a request that it does not know has a status and no header of any server.
        "made_up": answer.status_code == 404 and {name.lower() for name in answer.headers} <= {"content-length"},
    }
    with Path(os.environ["SOJOURN_WEB_TOLD"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")
