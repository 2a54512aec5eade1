#!/usr/bin/env python3
"""Makes functions/catalog/schema-core/data/kubernetes.bin, the schemas that kubeconform and kubeval know.

    pip download --no-deps kubernetes-validate
    scripts/kubernetes-schemas.py kubernetes_validate-*.whl

The wheel carries, for each Kubernetes version, `_definitions.json` (every type of the API as JSON Schema) in a normal
and a strict form. What goes into the file, and what is checked on the way:

- descriptions and `x-kubernetes-*` notes are dropped, `$ref` is the bare name of a definition;
- a definition that is the same in consecutive versions is kept once;
- the strict form is the normal one with `additionalProperties: false` wherever there are `properties`: it is not kept,
  and the script fails should that ever be untrue.

The file, all of it deterministic:

    portico-schemas 1
    1.25 1.26 ...                                         versions, oldest first
    PACKAGE <tab> APIVERSION <tab> PACKED <tab> UNPACKED  one line a package; `-` where it has no kinds
                                                          (an empty line)
    ...                                                   for each package, PACKED bytes of raw deflate

Unpacked, a package is one line a definition: NAME <tab> FIRST <tab> LAST <tab> `k` for a kind, else `-` <tab> SCHEMA,
where FIRST and LAST number the versions.
"""

import json
import re
import sys
import zipfile
import zlib
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "functions/catalog/schema-core/data/kubernetes.bin"
DEFINITIONS = re.compile(r".*/v(\d+)\.(\d+)\.\d+-local/_definitions\.json$")
SCHEMA_LISTS = ("oneOf", "anyOf", "allOf")
KNOWN = {"type", "enum", "format", "required", "$ref", "properties", "items", "additionalProperties", "oneOf"}


def compact(schema, where):
    """The schema without what only people read."""
    out = {}
    for key, value in schema.items():
        if key in ("description", "$schema", "$id", "default") or key.startswith("x-kubernetes-"):
            continue
        if key not in KNOWN:
            sys.exit(f"{where}: keyword `{key}` is new; teach it to schema-core, then add it here")
        if key == "properties":
            value = {name: compact(each, f"{where}.{name}") for name, each in sorted(value.items())}
        elif key == "items" or key == "additionalProperties" and isinstance(value, dict):
            value = compact(value, f"{where}.{key}")
        elif key in SCHEMA_LISTS:
            value = [compact(each, where) for each in value]
        elif key == "$ref":
            value = value.rsplit("/", 1)[-1]
        out[key] = value
    return out


def check_strict(normal, strict, where):
    for name, schema in normal.items():
        expected = dict(schema)
        if "properties" in schema and "additionalProperties" not in schema:
            expected["additionalProperties"] = False
        if strict[name] != expected:
            sys.exit(f"{where}: the strict form of {name} is not the closed normal form")


def own_api_version(schema):
    """The apiVersion of a kind; None for types that are no kind, or one of every group."""
    kinds = schema.get("x-kubernetes-group-version-kind", [])
    if len(kinds) != 1:
        return None
    group, version = kinds[0]["group"], kinds[0]["version"]
    return f"{group}/{version}" if group else version


def main(wheel):
    archive = zipfile.ZipFile(wheel)
    versions = sorted(
        (int(match[1]), int(match[2]), match[0]) for match in map(DEFINITIONS.match, archive.namelist()) if match
    )
    packages = {}
    for number, (_, _, path) in enumerate(versions):
        normal = json.loads(archive.read(path))["$defs"]
        check_strict(normal, json.loads(archive.read(path.replace("-local/", "-local-strict/")))["$defs"], path)
        for full_name, schema in normal.items():
            package, name = full_name.rsplit(".", 1)
            text = json.dumps(compact(schema, full_name), separators=(",", ":"), ensure_ascii=False)
            api_version = own_api_version(schema)
            entry = packages.setdefault(package, {"apiVersion": set(), "lines": {}})
            if api_version:
                entry["apiVersion"].add(api_version)
            spans = entry["lines"].setdefault((name, "k" if api_version else "-", text), [])
            if spans and spans[-1][1] == number - 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
    head, blobs = ["portico-schemas 1", " ".join(f"{major}.{minor}" for major, minor, _ in versions)], []
    for package, entry in sorted(packages.items()):
        if len(entry["apiVersion"]) > 1:
            sys.exit(f"{package} has kinds of several API versions: {entry['apiVersion']}")
        lines = sorted(
            f"{name}\t{first}\t{last}\t{kind}\t{text}\n"
            for (name, kind, text), spans in entry["lines"].items()
            for first, last in spans
        )
        unpacked = "".join(lines).encode()
        compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = compressor.compress(unpacked) + compressor.flush()
        api_version = next(iter(entry["apiVersion"]), "-")
        head.append(f"{package}\t{api_version}\t{len(packed)}\t{len(unpacked)}")
        blobs.append(packed)
    OUT.write_bytes(("\n".join(head) + "\n\n").encode() + b"".join(blobs))
    print(f"{OUT}: {OUT.stat().st_size} bytes, Kubernetes {head[1]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
