# SPDX-License-Identifier: Apache-2.0
"""report_schema.py SCHEMA RULES.c REPORT...: the reports match docs/report.schema.json, and the schema has each key that
`sluice report` checks (a rule of report_reader.c). The words of JSON Schema that the schema uses, without a package."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}
KNOWN = {"$schema", "title", "description", "type", "enum", "properties", "required", "additionalProperties", "items",
         "prefixItems", "minItems", "maxItems", "minimum", "maximum", "pattern"}


def has_type(value, name):
    return isinstance(value, TYPES[name]) and (isinstance(value, bool) <= (name == "boolean"))


def check(value, schema, where):
    assert set(schema) <= KNOWN, f"{where}: the schema has words that this check does not know: {set(schema) - KNOWN}"
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    assert not names or any(has_type(value, name) for name in names), f"{where} is {value!r}, and must be {names}"
    assert "enum" not in schema or value in schema["enum"], f"{where} is {value!r}, and must be one of {schema['enum']}"
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{where} is {value!r}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{where} is {value}"
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        for key in schema.get("required", []):
            assert key in value, f"{where}.{key} is missing"
        for key, element in value.items():
            assert key in properties or more is not False, f"{where}.{key} is not in the schema"
            check(element, properties.get(key, more if isinstance(more, dict) else {}), f"{where}.{key}")
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), where
        for i, element in enumerate(value):
            check(element, first[i] if i < len(first) else schema.get("items", {}), f"{where}[{i}]")


def key_of(schema, path):
    """The schema of a path such as stages.operations; None if it has no such key."""
    for name in [name for name in path.split(".") if name]:
        schema = schema.get("items", schema).get("properties", {}).get(name)
        if schema is None:
            return None
    return schema.get("items", schema) if path else schema


with open(sys.argv[1], encoding="utf-8") as file:
    root = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    rules = re.findall(r'^    \{"([a-z_.]*)", "([a-z_0-9]*)", \'', file.read(), re.M)
assert len(rules) > 50, rules
for inside, key in rules:
    if key != "merge":  # of a merged report only
        found = key_of(root, inside)
        assert found and key in found.get("properties", {}), f"{inside}.{key} is not in the schema"
for path in sys.argv[3:]:
    with open(path, encoding="utf-8") as file:
        check(json.load(file), root, path)
