"""The engine's process: the host of the engine, and the local server inside it while it is switched on."""

from collections.abc import Callable, Sequence

from headstart.engine.opening import ModelSource
from headstart.engine.process import host
from headstart.engine.process.host import SharedEngine
from headstart.engine.protocol import ModelInfo, ServerReport, StartServer


def main(argv: Sequence[str] | None = None, models: ModelSource | None = None) -> None:
    host.main(argv, models, serve)


def serve(
    order: StartServer, engine: SharedEngine, model_info: ModelInfo, tell: Callable[[ServerReport], None]
) -> host.ServerHandle:
    """Start the local server. Raises SettingsError and ServerError."""
    from headstart.server.models import OneModel, served  # noqa: PLC0415 - HTTP, for which few processes have a use
    from headstart.server.server import Server, listen  # noqa: PLC0415

    listener = listen(order.host, order.port, allow_network=order.allow_network)
    model = served(order.model, model_info)
    server = Server(order, listener, OneModel(model, engine), tell)
    server.start()
    return server


if __name__ == "__main__":
    main()
