"""A badly behaved engine in one file: python -I -S fake_engine.py OPTIONS as JSON.

Options (all optional): port, served_name, pids (file to which every process of it appends its pid), delay_s (before
listening), say (lines for the log), exit_code (end with it, after exit_after_s), ignore_term, chatter (log for ever),
silent_port (accept connections, answer none), daemons (children in sessions of their own, detached from their parent),
status (HTTP status of every answer), env_file (where to write the environment), max_model_len, flood_mib (of lines for
the log, before listening), version (what it says at /version). Like vLLM it leaves a socket and a file behind.
"""

import http.server
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time

options = json.loads(sys.argv[1])


def note_pid() -> None:
    if "pids" in options:
        with pathlib.Path(options["pids"]).open("a") as file:
            file.write(f"{os.getpid()}\n")


def ignore_term() -> None:
    if options.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def daemon() -> None:
    """Fork a grandchild in a session of its own whose parent ends at once, as daemons do; return when it runs."""
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        ignore_term()
        note_pid()
        os.close(tell)
        time.sleep(600)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(tell)
    os.read(hear, 1)
    os.close(hear)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        model = {"id": options.get("served_name"), "max_model_len": options.get("max_model_len", 512)}
        answer = {"version": options.get("version")} if self.path == "/version" else {"data": [model]}
        body = json.dumps(answer).encode()
        self.send_response(options.get("status", 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def end_later() -> None:
    time.sleep(options.get("exit_after_s", 0))
    # With its time, so that a test can tell how long the end went unnoticed, however slow the start was.
    print(f"ending at {time.time()}", flush=True)
    os._exit(options["exit_code"])


ignore_term()
note_pid()
for line in options.get("say", []):
    print(line, flush=True)
for number in range(options.get("flood_mib", 0)):
    os.write(1, f"{number:>7} {'x' * 55}\n".encode() * 2**14)
if sockets := os.environ.get("VLLM_RPC_BASE_PATH"):
    socket.socket(socket.AF_UNIX).bind(f"{sockets}/{os.getpid()}-{time.monotonic_ns()}")
    meeting = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"vllm_dist_{os.urandom(16).hex()}"
    meeting.touch()
    print(f"INFO world_size=1 distributed_init_method=file://{meeting} backend=gloo", flush=True)
if "env_file" in options:
    pathlib.Path(options["env_file"]).write_text(json.dumps(dict(os.environ)))
for _ in range(options.get("daemons", 0)):
    daemon()
if "exit_code" in options:
    threading.Thread(target=end_later, daemon=True).start()
if options.get("silent_port"):
    listener = socket.create_server(("127.0.0.1", options["port"]))
    time.sleep(600)
deadline = time.monotonic() + options.get("delay_s", 0)
while time.monotonic() < deadline:
    if options.get("chatter"):
        print("still loading", flush=True)
    time.sleep(0.05)
if "port" in options:
    http.server.ThreadingHTTPServer(("127.0.0.1", options["port"]), Handler).serve_forever()
