"""A program under measurement: starts it, asks it for pages, and reads what the kernel says it used."""

import gc
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

START_LIMIT = 30
REQUEST_LIMIT = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Subject:
    """A running exporter on the loopback. `sign` is a text that only a page with its GPUs has."""

    def __init__(self, command, environment, port, sign, log):
        self.port, self.sign = port, sign
        started = time.perf_counter()
        with open(log, "ab") as file:
            self.child = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        self.start_seconds = self._wait(started, log)

    def _wait(self, started, log):
        """From before the program is started to the last byte of the first page that has its GPUs."""
        while time.perf_counter() - started < START_LIMIT:
            if self.child.poll() is not None:
                break
            try:
                status, body = Client(self.port).get()
                if status == 200 and self.sign in body:
                    return time.perf_counter() - started
            except OSError:
                pass
            time.sleep(0.002)
        self.stop()
        with open(log, errors="replace") as file:
            told = file.read()[-2000:]
        sys.exit(f"{self.child.args} showed no page with {self.sign!r}; it said:\n{told}")

    def resident_kib(self):
        with open(f"/proc/{self.child.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def threads(self):
        return len(os.listdir(f"/proc/{self.child.pid}/task"))

    def processor_seconds(self):
        """User and system time of all threads, those that have ended included, by the process' own clock: what
        /proc/PID/stat counts in hundredths of a second, in nanoseconds."""
        return time.clock_gettime((~self.child.pid << 3) | 2)

    def stop(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Client:
    """One HTTP client, no more than needed: what it costs is in every figure, the same for all."""

    def __init__(self, port, gzip=False, keep=False):
        self.port, self.keep, self.stream = port, keep, None
        encoding = "gzip" if gzip else "identity"
        connection = "keep-alive" if keep else "close"
        self.request = (
            "GET /metrics HTTP/1.1\r\nhost: localhost\r\naccept: text/plain;version=0.0.4\r\n"
            f"accept-encoding: {encoding}\r\nconnection: {connection}\r\n\r\n"
        ).encode()
        self.reused = 0

    def get(self):
        if self.stream is None:
            self.stream = socket.create_connection(("127.0.0.1", self.port), timeout=REQUEST_LIMIT)
            self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.reused += 1
        self.stream.sendall(self.request)
        head, body = b"", b""
        while b"\r\n\r\n" not in head:
            piece = self.stream.recv(262144)
            if not piece:
                raise ConnectionError("closed before the header's end")
            head += piece
        head, body = head.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        pieces, have = [body], len(body)
        while length is None or have < int(length[1]):
            piece = self.stream.recv(262144)
            if not piece:
                break
            pieces.append(piece)
            have += len(piece)
        stays = self.keep and length and not head.startswith(b"HTTP/1.0") and b"onnection: close" not in head
        if not stays:
            self.stream.close()
            self.stream = None
        return int(head.split(b" ", 2)[1]), b"".join(pieces)


def latencies(client, count, spacing=0.0):
    """Seconds of `count` scrapes one after the other."""
    taken = []
    gc.collect()
    gc.disable()
    for _ in range(count):
        if spacing:
            time.sleep(spacing)
        before = time.perf_counter()
        status, _ = client.get()
        taken.append(time.perf_counter() - before)
        if status != 200:
            raise ConnectionError(f"status {status}")
    gc.enable()
    return taken


def quantiles(taken):
    """The median, the 99th percentile and the longest, in milliseconds."""
    ordered = sorted(taken)
    ninety_ninth = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return [1e3 * value for value in (statistics.median(ordered), ninety_ninth, ordered[-1])]
