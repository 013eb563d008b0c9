"""A node that does not exist: a scenario for the NVML double, processes on its GPUs, and the files and the answer by which a
kubelet tells whose they are. Everything lives in one directory and ends with it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
LIBRARY = "libnvidia-ml.so.1"
MODEL = "h100-80gb-hbm3"
MIB = 1024 * 1024
NAMESPACE = "team-research"


def gpu_uuid(index):
    return f"GPU-5c1f0b7e-0000-4a00-8000-{index:012x}"


def pod_name(index):
    return f"trainer-{index:04d}-worker-0"


def pod_uid(index):
    return f"7d1f2a90-4b6c-4c0e-9f00-{index:012x}"


def container_id(index):
    return f"{index:064x}"


class Machine:
    """A node with `gpus` boards and `pods` pods. Of these, as many as there are boards hold one each and run one process on it;
    if `shared`, every pod has a share of a board and a process there."""

    def __init__(self, directory, library, gpus=8, pods=0, shared=False):
        self.directory = pathlib.Path(directory)
        self.gpus, self.pods, self.shared = gpus, pods, shared
        self.children, self.kubelet = [], None
        self.driver = self.directory / "driver"
        self.driver.mkdir(parents=True)
        # A copy: the double looks for its scenario beside itself.
        shutil.copy(library, self.driver / LIBRARY)
        users = [[] for _ in range(gpus)]
        for index in range(pods if shared else gpus):
            users[index % gpus].append(self._process())
        self._write_scenario(users)
        for index in range(pods):
            at = users[index % gpus]
            self._write_host_files(index, at[index // gpus] if index // gpus < len(at) else None)

    def _process(self):
        """A real process, so that looking at it costs what looking at a process costs."""
        child = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child.pid

    def _write_scenario(self, users):
        boards = []
        for index, pids in enumerate(users):
            share = max(1, len(pids))
            process = lambda pid: {
                "pid": pid,
                "kind": "compute",
                "memory": 64 * 1024 * MIB // share,
                "sm": 80 // share,
            }
            boards.append(
                {"model": MODEL, "uuid": gpu_uuid(index), "processes": [process(pid) for pid in pids]}
            )
        # Counters run, as on a machine in use: every page differs from the one before.
        scenario = {"gpus": boards, "frozen": False, "latency": "realistic"}
        (self.driver / "scenario.json").write_text(json.dumps(scenario))

    def _write_host_files(self, index, pid):
        """What a kubelet and a container runtime leave of a pod, in the shape of containerd and control groups version 2."""
        uid, container = pod_uid(index), container_id(index)
        group = f"kubepods/burstable/pod{uid}"
        (self.directory / "sys/fs/cgroup" / group).mkdir(parents=True)
        logs = self.directory / "log"
        (logs / "pods" / f"{NAMESPACE}_{pod_name(index)}_{uid}").mkdir(parents=True)
        (logs / "containers").mkdir(exist_ok=True)
        (logs / "containers" / f"{pod_name(index)}_{NAMESPACE}_main-{container}.log").touch()
        if pid is not None:
            own = self.directory / "proc" / str(pid)
            own.mkdir(parents=True)
            # Read through to the real process; only its control group is made up.
            (own / "stat").symlink_to(f"/proc/{pid}/stat")
            (own / "cgroup").write_text(f"0::/{group}/{container}\n")

    def _held(self, index):
        if self.shared:
            return ["nvidia.com/gpu.shared", f"{gpu_uuid(index % self.gpus)}::{index // self.gpus}"]
        return ["nvidia.com/gpu", gpu_uuid(index)] if index < self.gpus else None

    def start_kubelet(self, python):
        """Serves the pod-resources socket."""
        answer = self.directory / "answer.json"
        pods = range(self.pods)
        held = [
            {"namespace": NAMESPACE, "pod": pod_name(index), "container": "main", "device": self._held(index)}
            for index in pods
        ]
        answer.write_text(json.dumps(held))
        socket = self.directory / "kubelet.sock"
        self.kubelet = subprocess.Popen([python, HERE / "fake_kubelet.py", socket, answer])
        deadline = time.monotonic() + 20
        while not socket.exists():
            if time.monotonic() > deadline:
                sys.exit("the fake kubelet did not start")
            time.sleep(0.02)
        return socket

    def last_gpu(self):
        """A text that a page has when it has every GPU."""
        return gpu_uuid(self.gpus - 1).encode()

    def environment(self):
        return {"LD_LIBRARY_PATH": str(self.driver), "PATH": os.environ["PATH"], "HOME": str(self.directory)}

    def calls(self):
        """Calls of the driver so far, and over how many seconds."""
        tally = json.loads((self.driver / "calls.json").read_text())
        return sum(tally["calls"].values()), tally["seconds"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in [*self.children, *([self.kubelet] if self.kubelet else [])]:
            child.send_signal(signal.SIGKILL)
            child.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
