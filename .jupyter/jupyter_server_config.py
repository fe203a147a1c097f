"""Settings of Jupyter's server; `make lab` and Binder both find this file."""

import os

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class Immediate(ZMQChannelsWebsocketConnection):
    """Passes each message of the kernel on at once.

    TCP holds a small message back until the one before it is acknowledged (Nagle's algorithm, RFC 896), and the
    acknowledgement may take 40 ms (delayed, RFC 1122 section 4.2.3.2): a slider would wait for it at every other move.
    """

    def connect(self):
        self.websocket_handler.set_nodelay(True)
        return super().connect()


if "JUPYTER_GATEWAY_URL" not in os.environ:  # kernels behind a gateway are reached in another way
    c.ServerApp.kernel_websocket_connection_class = Immediate  # noqa: F821, traitlets provides c
