"""The exporter that many write for themselves: `prometheus_client` and `nvidia-ml-py`, one loop a second. A peer to compare
with; it has the twenty values that most dashboards show and nothing else."""

import sys
import time

import pynvml
from prometheus_client import Gauge, start_http_server

LABELS = ["gpu", "uuid"]
CLOCKS = {"sm": pynvml.NVML_CLOCK_SM, "mem": pynvml.NVML_CLOCK_MEM, "graphics": pynvml.NVML_CLOCK_GRAPHICS}


def gauge(name):
    return Gauge(f"simple_gpu_{name}", name, LABELS)


GAUGES = {
    name: gauge(name)
    for name in (
        "utilization memory_utilization encoder decoder memory_used memory_free memory_total power power_limit energy "
        "temperature clock_sm clock_mem clock_graphics pstate throttle_reasons ecc_corrected ecc_uncorrected processes pcie_replay"
    ).split()
}


def read(index):
    device = pynvml.nvmlDeviceGetHandleByIndex(index)
    labels = (str(index), pynvml.nvmlDeviceGetUUID(device))
    rates = pynvml.nvmlDeviceGetUtilizationRates(device)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device)
    values = {
        "utilization": rates.gpu,
        "memory_utilization": rates.memory,
        "encoder": pynvml.nvmlDeviceGetEncoderUtilization(device)[0],
        "decoder": pynvml.nvmlDeviceGetDecoderUtilization(device)[0],
        "memory_used": memory.used,
        "memory_free": memory.free,
        "memory_total": memory.total,
        "power": pynvml.nvmlDeviceGetPowerUsage(device) / 1e3,
        "power_limit": pynvml.nvmlDeviceGetEnforcedPowerLimit(device) / 1e3,
        "energy": pynvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1e3,
        "temperature": pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU),
        "pstate": pynvml.nvmlDeviceGetPerformanceState(device),
        "throttle_reasons": pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(device),
        "ecc_corrected": pynvml.nvmlDeviceGetTotalEccErrors(device, 0, 0),
        "ecc_uncorrected": pynvml.nvmlDeviceGetTotalEccErrors(device, 1, 0),
        "processes": len(pynvml.nvmlDeviceGetComputeRunningProcesses(device)),
        "pcie_replay": pynvml.nvmlDeviceGetPcieReplayCounter(device),
    }
    for name, clock in CLOCKS.items():
        values[f"clock_{name}"] = pynvml.nvmlDeviceGetClockInfo(device, clock)
    for name, value in values.items():
        GAUGES[name].labels(*labels).set(value)


def main(port):
    pynvml.nvmlInit()
    start_http_server(port, addr="127.0.0.1")
    while True:
        for index in range(pynvml.nvmlDeviceGetCount()):
            read(index)
        time.sleep(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
