"""The input tensors of one inference request."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


class Inputs:
    """Looked up once; each pass sets their shapes and writes its values into them."""

    def __init__(self, request: Any, compiled: Any) -> None:
        """Those of `request`, which was made by the model `compiled`."""
        self._request = request
        self._ports = {name: port for port in compiled.inputs for name in port.names}
        self._tensors: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        """Whether the model has such an input."""
        return name in self._ports

    def write(self, name: str, values: ArrayLike) -> None:
        """What the next pass reads there."""
        tensor = self._tensors.get(name)
        if tensor is None:
            tensor = self._tensors[name] = self._request.get_tensor(self._ports[name])
        tensor.shape = np.shape(values)
        tensor.data[...] = values
