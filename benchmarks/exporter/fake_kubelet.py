"""A kubelet's pod-resources service on a unix socket: `fake_kubelet.py SOCKET ANSWER`. The answer is a list in JSON; it is
encoded by hand, so that no protobuf compiler is needed."""

import concurrent.futures
import json
import sys

import grpc


def field(number, payload):
    """A field of protobuf that has a length: text or a message."""
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value):
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded + bytes([value]))


def pod(held):
    container = field(1, held["container"])
    if held["device"]:
        resource, device = held["device"]
        container += field(2, field(1, resource) + field(2, device))
    return field(1, held["pod"]) + field(2, held["namespace"]) + field(3, container)


def main(socket, answer):
    with open(answer) as file:
        listed = b"".join(field(1, pod(held)) for held in json.load(file))
    handlers = {"List": grpc.unary_unary_rpc_method_handler(lambda *_: listed)}
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers)])
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
