#!/usr/bin/env python3
"""What the whole control plane costs: the shipped program against a server that plays the API server of a large cluster and one that
plays its exporters, each a process of its own. Prints processor time and memory of the control plane alone.

    python3 benchmarks/control-plane/run.py --nodes 1000 --gpu-pods 10000 --other-pods 30000
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))


def build():
    """The program, the player of the API server, and the benchmark that plays exporters."""
    package = ["-p", "gpu-autoscaler"]
    subprocess.run(["cargo", "build", "--release", *package, "--bin", "gpu-autoscaler", "--example", "picture"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "bench", *package, "--bench", "scrape", "--no-run"], cwd=ROOT, check=True)
    pages = [path for path in glob.glob(os.path.join(TARGET, "release", "deps", "scrape-*")) if not path.endswith(".d")]
    return (
        os.path.join(TARGET, "release", "gpu-autoscaler"),
        os.path.join(TARGET, "release", "examples", "picture"),
        max(pages, key=os.path.getmtime),
    )


def player(command):
    """Starts a server that prints its port."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, int(child.stdout.readline())


def kubeconfig(port, directory):
    """A way to a server without a password."""
    path = os.path.join(directory, "kubeconfig.json")
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) / 1024


def ask(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return json.load(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpu-pods", type=int, default=10000)
    parser.add_argument("--other-pods", type=int, default=30000)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--interval", default="30s")
    options = parser.parse_args()
    program, api, pages = build()
    directory = tempfile.mkdtemp(prefix="control-plane-bench-")
    children = []
    try:
        sizes = [f"--nodes={options.nodes}", f"--gpu-pods={options.gpu_pods}", f"--other-pods={options.other_pods}"]
        child, api_port = player([api, "--serve", *sizes])
        children.append(child)
        child, page_port = player([pages, "serve", str(options.nodes)])
        children.append(child)
        first = (127 << 24) + (1 << 16)
        address = lambda number: ".".join(str((first + number) >> shift & 255) for shift in (24, 16, 8, 0))
        targets = ",".join(f"{address(number)}:{page_port}" for number in range(options.nodes))
        environment = {
            "PATH": os.environ["PATH"], "KUBECONFIG": kubeconfig(api_port, directory), "GPU_AUTOSCALER_TARGETS": targets,
        }
        command = [
            program, "serve", "--cluster=bench", "--namespace=default", "--listen=127.0.0.1:0", "--events=off", "--node-conditions=off",
            f"--analysis-interval={options.interval}", f"--store=sqlite:{directory}/ledger.db", "--exporter-service=none/none",
        ]
        plane = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        children.append(plane)
        port = int(plane.stdout.readline().rsplit(":", 1)[1].strip().strip("/"))
        began = time.monotonic()
        while True:
            try:
                status = ask(port, "/api/v1/status")
                if status["fleet"]["gpus"] >= options.nodes * 8:
                    break
            except (urllib.error.URLError, KeyError):
                pass
            if time.monotonic() - began > 300:
                sys.exit("the control plane saw no fleet within five minutes")
            time.sleep(1)
        print(f"first judgement of {status['fleet']['gpus']} GPUs after {time.monotonic() - began:.0f} s, "
              f"{processor_seconds(plane.pid):.1f} s of processor time, {memory_mib(plane.pid, 'VmHWM:'):.0f} MiB at most")
        used, began = processor_seconds(plane.pid), time.monotonic()
        time.sleep(options.seconds)
        used, took = processor_seconds(plane.pid) - used, time.monotonic() - began
        waste = ask(port, "/api/v1/waste?limit=1")
        print(f"{took:.0f} s at an interval of {options.interval}: {used / took:.3f} of a core, "
              f"{memory_mib(plane.pid, 'VmRSS:'):.0f} MiB resident, {memory_mib(plane.pid, 'VmHWM:'):.0f} MiB at most, {waste['found']} findings")
    finally:
        for child in reversed(children):
            child.kill()
            child.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
