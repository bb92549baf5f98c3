#!/usr/bin/env python3
"""Stand-in for a VNC server on 127.0.0.1:5900 that sends only its protocol version."""

import socketserver


class Viewer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"RFB 003.008\n")
        while self.request.recv(4096):
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(("127.0.0.1", 5900), Viewer) as server:
    server.serve_forever()
