"""The addresses of the project, which the packages name if they are built where they are known."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESSES = {"Documentation": "BRANDED_SITE", "Repository": "BRANDED_REPO"}


class Addresses(MetadataHookInterface):
    """`BRANDED_SITE=https://… BRANDED_REPO=https://… make dist`, as for `make site`."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["urls"] = {name: os.environ[key] for name, key in ADDRESSES.items() if os.environ.get(key)}
