"""A guard that ends a process which asks for the network."""

# Any connection or look-up of a name ends the process, whoever tries it.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise SystemExit(f"network: {event} {arguments}")

sys.addaudithook(refuse)
"""
