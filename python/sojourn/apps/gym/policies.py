"""Policies: functions from observations to actions, and files of small networks that run as queue managers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.apps.gym.settings import Settings
from sojourn.base.errors import InputError
from sojourn.base.files import write_file
from sojourn.base.inputs import read_text

Policy = Callable[[NDArray[np.float32]], Any]
"""Returns an action for an observation; its method `reset`, if any, is called at the start of an episode."""
Activation = Literal["linear", "tanh", "relu", "sigmoid"]

FORM = 1
"""Version of the file format."""


@dataclass(frozen=True)
class Layer:
    """A dense layer: `weights` has a row for each output."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: Activation = "linear"


@dataclass(frozen=True)
class Network:
    """A small network, evaluated by the core: it acts here exactly as the queue manager `policy:FILE` does.

    At most three layers of at most 64 outputs. The last layer gives the action, clipped to its range; for "delta" the
    largest of five outputs is the choice.
    """

    layers: Sequence[Layer]
    settings: Settings = field(default_factory=Settings)
    """Observations, step length, and meaning of the action."""
    note: str = ""
    """Description and origin, for readers of the file."""

    def __post_init__(self) -> None:
        """Validate it by the core."""
        object.__setattr__(self, "_core", _core.PolicyNetwork(self.text))

    def __call__(self, observation: NDArray[np.float32]) -> Any:
        """The action for an observation."""
        outputs = self.__dict__["_core"].forward(np.ascontiguousarray(observation, np.float32))
        return int(np.argmax(outputs)) if len(outputs) > 1 else np.array(outputs, np.float32)

    @property
    def text(self) -> str:
        """The file's text."""
        document = {
            "sojourn_policy": FORM,
            "note": self.note,
            "step": self.settings.step,
            "action": self.settings.action,
            "observe": self.settings.entries,
            "stack": self.settings.stack,
            "layers": [_layer(layer) for layer in self.layers],
        }
        return json.dumps(document, indent=1) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the file; `policy:FILE` names it wherever a queue manager is expected."""
        path = Path(path)
        write_file(path, lambda file: file.write(self.text.encode()))
        return path

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """Read a file."""
        path = Path(path)
        text = read_text(path)
        try:
            _core.PolicyNetwork(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        found = json.loads(text)
        settings = Settings(found["step"], found["action"], found.get("observe") or "default", found.get("stack", 1))
        layers = [_array(layer) for layer in found["layers"]]
        return cls(layers, settings, found.get("note", ""))


def export(policy: Any, path: str | Path, settings: Settings | Mapping[str, Any], note: str = "") -> Path:
    """Write a policy as a file for the queue manager `policy:FILE`.

    `policy`: a `Network`, or a torch module whose children are linear layers and activations, such as
    `torch.nn.Sequential`. `settings`: those of the training environment, at least `step`, `action`, `observe` and
    `stack` if they differ from the defaults.
    """
    if not isinstance(settings, Settings):
        known = {key: settings[key] for key in ("step", "action", "observe", "stack") if key in settings}
        settings = Settings(**known)
    layers = policy.layers if isinstance(policy, Network) else _of_torch(policy)
    return Network(layers, settings, note).save(path)


_OF_TORCH: Mapping[str, Activation] = {"Tanh": "tanh", "ReLU": "relu", "Sigmoid": "sigmoid", "Identity": "linear"}


def _of_torch(module: Any) -> list[Layer]:
    """Layers of a torch module, by the class names of its children."""
    layers: list[Layer] = []
    for child in module.children() if callable(getattr(module, "children", None)) else []:
        kind = type(child).__name__
        if kind == "Linear":
            weights = child.weight.detach().cpu().numpy()
            bias = np.zeros(len(weights)) if child.bias is None else child.bias.detach().cpu().numpy()
            layers.append(Layer(np.asarray(weights, np.float32), np.asarray(bias, np.float32)))
        elif kind in _OF_TORCH and layers and layers[-1].activation == "linear":
            layers[-1] = Layer(layers[-1].weights, layers[-1].bias, _OF_TORCH[kind])
        else:
            raise InputError(
                f"policy: {kind} is not a layer that can be exported; expected Linear, {', '.join(_OF_TORCH)}"
            )
    if not layers:
        raise InputError("policy: neither a Network nor a torch module of linear layers")
    return layers


def _layer(layer: Layer) -> dict[str, Any]:
    weights, bias = np.asarray(layer.weights, np.float32), np.asarray(layer.bias, np.float32)
    if weights.ndim != 2 or bias.ndim != 1:
        raise InputError("layers: weights need a row, and the bias a number, for each output")
    return {"weights": weights.tolist(), "bias": bias.tolist(), "activation": layer.activation}


def _array(layer: Mapping[str, Any]) -> Layer:
    return Layer(np.array(layer["weights"], np.float32), np.array(layer["bias"], np.float32), layer["activation"])
