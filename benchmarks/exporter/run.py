#!/usr/bin/env python3
"""Measures gpu-exporter beside its peers, all on the same double of NVIDIA's library, in one run:

    python3 benchmarks/exporter/run.py                       # about 15 minutes
    python3 benchmarks/exporter/run.py --scrapes 1000000     # memory after a million scrapes
    python3 benchmarks/exporter/run.py --quick               # a minute or two, to see that it works

It builds what is ours with the `agent` profile, in which it is shipped, gets the peers from their registries into a cache directory, starts one program
at a time on the loopback, and prints tables in Markdown. Pods of others' processes need root (a mount namespace of its own).
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import peers
from machine import Machine
from subject import Client, Subject, free_port, latencies, quantiles

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A page is made anew when the sample is: scrapes this far apart each find a page that nobody asked for yet.
SPACING = 1.03
# What the exporter reads of a node lies in fixed places; in a mount namespace of its own these are the machine's.
IN_NAMESPACE = 'mount --bind "$0" /var/log && exec "$@"'


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scrapes", type=int, default=100_000, help="for the memory after many scrapes")
    parser.add_argument("--peer-scrapes", type=int, default=2_000, help="the same for peers, which are slower")
    parser.add_argument("--latency-scrapes", type=int, default=2_000, help="for each of three ways to connect")
    parser.add_argument("--seconds", type=float, default=60, help="of sampling while nobody scrapes")
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--fresh", type=int, default=30, help="scrapes that each find a new page")
    parser.add_argument("--only", default="", help="only subjects with this in their name; no growth")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--exporter", type=pathlib.Path, help="a gpu-exporter that is built already")
    parser.add_argument("--library", type=pathlib.Path, help="a double that is built already")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    parser.add_argument(
        "--cache",
        type=pathlib.Path,
        default=pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gpu-exporter-peers",
    )
    asked = parser.parse_args()
    if asked.quick:
        asked.scrapes, asked.peer_scrapes, asked.latency_scrapes = 5_000, 300, 300
        asked.seconds, asked.starts, asked.fresh = 5, 2, 3
    return asked


def build(asked):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    if not asked.exporter:
        command = ["cargo", "build", "--profile", "agent", "-p", "gpu-exporter", "--bin", "gpu-exporter"]
        subprocess.run(command, cwd=ROOT, check=True)
        asked.exporter = target / "agent/gpu-exporter"
    if not asked.library:
        subprocess.run(["cargo", "build", "--release", "-p", "gpu-nvml-double"], cwd=ROOT, check=True)
        asked.library = target / "release/libgpu_nvml_double.so"


class Bench:
    def __init__(self, asked, python, directory):
        self.asked, self.python, self.directory = asked, python, directory
        self.made = 0

    def machine(self, **what):
        self.made += 1
        return Machine(self.directory / f"machine-{self.made}", self.asked.library, **what)

    def log(self):
        return self.directory / "programs.log"

    def ours(self, machine, *flags, kubelet=None, processes=False, sign=None):
        """Starts our exporter; `kubelet` is its socket. Without `processes` it is told that it cannot see others'."""
        port = free_port()
        command = [self.asked.exporter, "--address", f"127.0.0.1:{port}", *flags]
        command += ["--host-processes", "true" if processes else "false"]
        if kubelet:
            files = machine.directory
            command += ["--kubernetes=true", "--pod-resources-kubelet-socket", kubelet]
            command += ["--path.procfs", files / "proc", "--path.sysfs", files / "sys"]
            command = ["unshare", "--mount", "sh", "-c", IN_NAMESPACE, files / "log", *command]
            sign = sign or b'pod="trainer-0000-worker-0"'
        else:
            command += ["--kubernetes=false"]
        return Subject(command, machine.environment(), port, sign or machine.last_gpu(), self.log())

    def peer(self, machine, *command):
        port = free_port()
        command = [part if part != "PORT" else str(port) for part in command]
        return Subject(command, machine.environment(), port, machine.last_gpu(), self.log())

    def measure(self, machine, start, scrapes, starts=None):
        """All figures of one program. It is started several times and measured in the last of its lives."""
        asked, figures = self.asked, {}
        took = []
        for _ in range((starts or asked.starts) - 1):
            with start() as subject:
                took.append(subject.start_seconds)
        with start() as subject:
            took.append(subject.start_seconds)
            figures["start_ms"] = 1e3 * sorted(took)[len(took) // 2]
            figures["start_ms_worst"] = 1e3 * max(took)
            figures["resident_first_kib"] = subject.resident_kib()
            figures |= self.idle(machine, subject)
            figures |= page_size(subject)
            figures |= self.scrape(subject, scrapes)
            figures["threads"] = subject.threads()
        return figures

    def idle(self, machine, subject, seconds=None):
        """Processor time and calls of the driver while nobody scrapes, after the start has settled."""
        time.sleep(min(5, seconds or self.asked.seconds))
        before, clock = subject.processor_seconds(), time.monotonic()
        calls = machine.calls()
        time.sleep(seconds or self.asked.seconds)
        after, passed = subject.processor_seconds(), time.monotonic() - clock
        later = machine.calls()
        per_second = (later[0] - calls[0]) / max(later[1] - calls[1], 1e-9)
        return {"idle_percent": 100 * (after - before) / passed, "calls_per_gpu_second": per_second / machine.gpus}

    def scrape(self, subject, scrapes):
        asked, figures = self.asked, {}
        ways = {"new": dict(), "kept": dict(keep=True), "kept_gzip": dict(keep=True, gzip=True)}
        for name, how in ways.items():
            client = Client(subject.port, **how)
            latencies(client, 20)
            figures[f"{name}_ms"] = quantiles(latencies(client, asked.latency_scrapes))
            if how.get("keep") and not client.reused:
                figures[f"{name}_ms"] = None
        fresh = latencies(Client(subject.port, gzip=True, keep=True), asked.fresh, SPACING)
        figures["fresh_gzip_ms"] = quantiles(fresh)
        client, before = Client(subject.port, keep=True), subject.processor_seconds()
        started = time.monotonic()
        for _ in range(scrapes):
            client.get()
        figures["scrapes"] = scrapes
        figures["scrapes_per_second"] = scrapes / (time.monotonic() - started)
        figures["scrape_processor_us"] = 1e6 * (subject.processor_seconds() - before) / scrapes
        figures["resident_many_kib"] = subject.resident_kib()
        return figures


def page_size(subject):
    _, page = Client(subject.port).get()
    _, packed = Client(subject.port, gzip=True).get()
    if gzip.decompress(packed)[:100] != page[:100]:
        sys.exit("the packed page is not the page")
    series = sum(1 for line in page.splitlines() if line and not line.startswith(b"#"))
    return {"series": series, "bytes": len(page), "bytes_gzip": len(packed)}


def compare(bench):
    """Every subject on eight GPUs. Of 110 pods eight hold a GPU each; or all share the GPUs, each with a process."""
    asked, found = bench.asked, {}
    python, here = bench.python, peers.HERE

    def take(name, machine, start, scrapes):
        if asked.only in name:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            found[name] = bench.measure(machine, start, scrapes)

    with bench.machine() as machine:
        take("gpu-exporter", machine, lambda: bench.ours(machine), asked.scrapes)
        nvitop = [python.parent / "nvitop-exporter", "--port", "PORT", "--interval", "1"]
        take("nvitop-exporter", machine, lambda: bench.peer(machine, *nvitop), asked.peer_scrapes)
        simple = [python, here / "prometheus_client_exporter.py", "PORT"]
        take("prometheus_client", machine, lambda: bench.peer(machine, *simple), asked.peer_scrapes)
    if asked.only in "gpu-exporter, no driver":
        with bench.machine() as machine:
            (machine.driver / "libnvidia-ml.so.1").unlink()
            (machine.driver / "calls.json").write_text('{"calls": {}, "seconds": 0}')
            start = lambda: bench.ours(machine, sign=b"gpu_exporter_")
            take("gpu-exporter, no driver", machine, start, asked.scrapes)
    if os.geteuid() != 0:
        print("not measured: pods, as only root may make a mount namespace", file=sys.stderr)
        return found
    for name, shared in {"gpu-exporter, 110 pods": False, "gpu-exporter, 110 pods share by process": True}.items():
        with bench.machine(pods=110, shared=shared) as machine:
            socket = machine.start_kubelet(python)
            take(name, machine, lambda: bench.ours(machine, kubelet=socket, processes=shared), asked.scrapes)
    return found


def grow(bench):
    """Ours alone, with more and more GPUs and pods."""
    found = {}
    sizes = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 8), (8, 50), (8, 110), (8, 250)]
    for gpus, pods in sizes:
        print(f"growing: {gpus} GPUs, {pods} pods ...", file=sys.stderr, flush=True)
        with bench.machine(gpus=gpus, pods=pods, shared=True) if pods else bench.machine(gpus=gpus) as machine:
            socket = machine.start_kubelet(bench.python) if pods else None
            with bench.ours(machine, kubelet=socket, processes=bool(pods)) as subject:
                figures = bench.idle(machine, subject, min(20, bench.asked.seconds))
                figures |= page_size(subject)
                client = Client(subject.port, keep=True, gzip=True)
                figures["kept_gzip_ms"] = quantiles(latencies(client, bench.asked.latency_scrapes))
                figures["fresh_gzip_ms"] = quantiles(latencies(client, min(10, bench.asked.fresh), SPACING))
                figures["resident_kib"] = subject.resident_kib()
                found[f"{gpus} GPUs, {pods} pods"] = figures
    return found


def milliseconds(figure):
    return "no keep-alive" if figure is None else f"{figure[0]:.2f} / {figure[1]:.2f}"


ROWS = {
    "series": lambda f: f"{f['series']:,}",
    "bytes a scrape, plain": lambda f: f"{f['bytes']:,}",
    "bytes a scrape, gzip": lambda f: f"{f['bytes_gzip']:,}",
    "scrape, connection kept, gzip: p50 / p99 ms": lambda f: milliseconds(f["kept_gzip_ms"]),
    "scrape, connection kept, plain: p50 / p99 ms": lambda f: milliseconds(f["kept_ms"]),
    "scrape, new connection, plain: p50 / p99 ms": lambda f: milliseconds(f["new_ms"]),
    "scrape that finds a new page, gzip: p50 / worst ms": lambda f: "{0:.2f} / {2:.2f}".format(*f["fresh_gzip_ms"]),
    "processor time a scrape, µs": lambda f: f"{f['scrape_processor_us']:.0f}",
    "processor, 1 s sampling, nobody scrapes": lambda f: f"{f['idle_percent']:.3f} %",
    "driver calls a GPU and second": lambda f: f"{f['calls_per_gpu_second']:.1f}",
    "resident after 1 scrape, MiB": lambda f: f"{f['resident_first_kib'] / 1024:.1f}",
    "resident after many, MiB": lambda f: f"{f['resident_many_kib'] / 1024:.1f} ({f['scrapes']:,})",
    "start to first page with GPUs: p50 / worst ms": lambda f: f"{f['start_ms']:.0f} / {f['start_ms_worst']:.0f}",
    "threads": lambda f: f"{f['threads']}",
}
GROWTH_ROWS = {
    "series": ROWS["series"],
    "bytes": ROWS["bytes a scrape, plain"],
    "gzip": ROWS["bytes a scrape, gzip"],
    "scrape p50 / p99 ms": ROWS["scrape, connection kept, gzip: p50 / p99 ms"],
    "new page p50 / worst ms": ROWS["scrape that finds a new page, gzip: p50 / worst ms"],
    "processor, idle": ROWS["processor, 1 s sampling, nobody scrapes"],
    "calls": ROWS["driver calls a GPU and second"],
    "resident MiB": lambda f: f"{f['resident_kib'] / 1024:.1f}",
}


def table(first, heads, lines):
    print("| " + " | ".join([first, *heads]) + " |")
    print("| " + " | ".join(["---"] * (len(heads) + 1)) + " |")
    for name, cells in lines:
        print("| " + " | ".join([name, *cells]) + " |")
    print()


def main():
    asked = arguments()
    build(asked)
    asked.cache.mkdir(parents=True, exist_ok=True)
    python = peers.python_with_packages(asked.cache)
    # In memory where that is possible: what the double writes about itself is no part of what is measured.
    memory = pathlib.Path("/dev/shm")
    within = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="gpu-exporter-bench-", dir=within) as directory:
        bench = Bench(asked, python, pathlib.Path(directory))
        found = compare(bench)
        growth = {} if asked.only or asked.no_growth else grow(bench)
    sizes = {
        "gpu-exporter": asked.exporter.stat().st_size,
        "nvitop-exporter": peers.installed_bytes(
            python, "nvitop", "nvitop_exporter", "psutil", "prometheus_client", "pynvml", "nvidia_ml_py", "typing_extensions"
        ),
        "prometheus_client": peers.installed_bytes(python, "prometheus_client", "pynvml", "nvidia_ml_py"),
    }
    missing = peers.why_not_from_go(asked.cache) if not asked.only else {}
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}, eight simulated H100 with realistic call times, {asked.seconds:.0f} s idle.\n")
    table("", found, [(name, [row(figures) for figures in found.values()]) for name, row in ROWS.items()])
    if growth:
        table("", GROWTH_ROWS, [(name, [row(figures) for row in GROWTH_ROWS.values()]) for name, figures in growth.items()])
    for name, size in sizes.items():
        print(f"- size on disk, {name}: {size / 1e6:.1f} MB" + ("" if name == "gpu-exporter" else ", without Python itself"))
    for name, reason in missing.items():
        print(f"- {name}: {reason}")
    if asked.json:
        figures = {"compared": found, "growth": growth, "bytes_on_disk": sizes, "not_measured": missing}
        asked.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
