"""The software bill of materials: what the frozen program is made of, in CycloneDX 1.6 as JSON.

Written by hand over ``bundled``: the generators on PyPI list an environment with its build tools,
not what is passed on, and know neither the system's libraries nor the files.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from builder.bundled import PRODUCT, parts
from builder.files import sha256, write_text
from builder.linux_metadata import HOMEPAGE
from builder.parts import Kind, Part
from builder.targets import Context, Target
from builder.tools import this_platform

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"


def build(context: Context) -> list[Path]:
    """Write the bill of the frozen program; BuildError when something in it is of nobody."""
    name = f"{PRODUCT}-{context.version}-{this_platform()}-{context.arch}.cdx.json"
    write_text(context.out / name, as_json(bill(context, parts(context))))
    return [context.out / name]


def as_json(document: dict[str, Any]) -> str:
    """Return the document as text, the same for the same contents."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def bill(context: Context, bundled: Sequence[Part]) -> dict[str, Any]:
    """Return the bill of these parts as CycloneDX words it."""
    product_ref = f"pkg:generic/{PRODUCT}@{context.version}"
    components = [component(part, context) for part in bundled]
    document: dict[str, Any] = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(context.epoch, UTC).isoformat(),
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": product_ref,
                "name": PRODUCT,
                "version": context.version,
                "description": f"for {this_platform()} on {context.arch}",
                "licenses": [{"license": {"id": "MIT"}}],
                "purl": product_ref,
                "externalReferences": [{"type": "website", "url": HOMEPAGE}],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": product_ref, "dependsOn": [found["bom-ref"] for found in components]}
        ],
        "compositions": [{"aggregate": "complete", "assemblies": [product_ref]}],
    }
    # A number of its own that the same contents always get again.
    digest = hashlib.sha256(as_json(document).encode()).hexdigest()
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, f"{product_ref}#{digest}").urn
    return document


def component(part: Part, context: Context) -> dict[str, Any]:
    """Return one part, with every file of its own and that file's hash."""
    purl = package_url(part, context.arch)
    found: dict[str, Any] = {
        "type": "platform" if part.kind is Kind.PYTHON else "library",
        "bom-ref": purl,
        "name": part.name,
        "version": part.version,
        "licenses": [licence(part)],
        "purl": purl,
    }
    if part.wheel_sha256 is not None:
        found["hashes"] = [{"alg": "SHA-256", "content": part.wheel_sha256}]
    if part.homepage is not None:
        found["externalReferences"] = [{"type": "website", "url": part.homepage}]
    if part.files:
        found["components"] = [
            {
                "type": "file",
                "bom-ref": f"{purl}#{quote(name)}",
                "name": name,
                "hashes": [{"alg": "SHA-256", "content": sha256(context.frozen / name)}],
            }
            for name in part.files
        ]
    return found


def licence(part: Part) -> dict[str, Any]:
    """Return a licence as CycloneDX has it: an SPDX expression, or what it is called."""
    if part.is_spdx:
        return {"expression": part.licence}
    return {"license": {"name": part.licence}}


def package_url(part: Part, arch: str) -> str:
    """Return the address that package databases know a part by."""
    version = quote(part.version, safe=".")
    if part.kind is Kind.WHEEL:
        return f"pkg:pypi/{part.name}@{version}"
    if part.kind is Kind.DEBIAN:
        debian = {"x86_64": "amd64", "aarch64": "arm64"}.get(arch, arch)
        return f"pkg:deb/debian/{part.name}@{version}?arch={debian}"
    return f"pkg:generic/{part.name}@{version}"


TARGETS = (
    Target(
        name="sbom",
        title="the software bill of materials of what is bundled (CycloneDX)",
        needs=(),
        after=("frozen",),
        build=build,
    ),
)
