"""Gets the programs to compare with from their registries into a cache directory. Nothing of them is kept in the repository."""

import os
import pathlib
import subprocess
import venv

HERE = pathlib.Path(__file__).parent
PACKAGES = ["nvitop-exporter==1.7.2", "prometheus_client==0.26.0", "nvidia-ml-py==13.615.71", "grpcio==1.85.1"]
GO_MODULES = {
    "nvidia_gpu_exporter": "github.com/utkuozdemir/nvidia_gpu_exporter/cmd/nvidia_gpu_exporter@latest",
    "dcgm-exporter": "github.com/NVIDIA/dcgm-exporter/cmd/dcgm-exporter@latest",
}
GO_LIMIT = 600


def python_with_packages(cache):
    """The interpreter of an environment that has the Python peers."""
    home = cache / "python"
    python = home / "bin/python"
    wanted = "\n".join(PACKAGES)
    done = home / "packages.txt"
    if not done.exists() or done.read_text() != wanted:
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        done.write_text(wanted)
    return python


def installed_bytes(python, *names):
    """What the packages of a peer take on disk, without the interpreter."""
    site = next(python.parent.parent.glob("lib/python*/site-packages"))
    roots = [entry for entry in site.iterdir() if entry.name.split("-")[0].lower() in names or entry.stem in names]
    files = [file for root in roots for file in (root.rglob("*") if root.is_dir() else [root])]
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


def why_not_from_go(cache):
    """Tries to build the peers in Go; for each the reason why it is not measured."""
    told = {}
    for name, module in GO_MODULES.items():
        environment = os.environ | {"GOBIN": str(cache / "go")}
        try:
            built = subprocess.run(
                ["go", "install", module], env=environment, capture_output=True, text=True, timeout=GO_LIMIT
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            told[name] = f"not built: {error}"
            continue
        if built.returncode:
            told[name] = "not built: " + " ".join(built.stderr.split())[-240:]
        else:
            # One runs nvidia-smi, the other asks DCGM's own library; the double is neither.
            told[name] = "built, not measured: it does not read NVML by itself"
    return told
