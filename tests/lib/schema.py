#!/usr/bin/env python3
"""schema.py SCHEMA < DOCUMENT - does a JSON document fit a schema of tests/data/schema?

The part of JSON Schema 2020-12 that those files use; an unknown keyword is an error, so that nothing
goes unchecked in silence.
"""
import json
import re
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KNOWN = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties",
         "items", "enum", "const", "pattern", "minimum", "minLength", "minItems"}


def check(schema, value, where, problems):
    def bad(text):
        problems.append(f"{where or '/'}: {text}")

    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"schema.py: unknown keywords {sorted(unknown)} at {where}")
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        return bad(f"{json.dumps(value)[:60]} is no {' or '.join(types)}")
    if "enum" in schema and value not in schema["enum"]:
        bad(f"{value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        bad(f"{value!r} is not {schema['const']!r}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            bad(f"{value!r} does not match {schema['pattern']}")
        if len(value) < schema.get("minLength", 0):
            bad("is too short")
    if TYPES["number"](value) and "minimum" in schema and value < schema["minimum"]:
        bad(f"{value} is below {schema['minimum']}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            bad(f"has {len(value)} items, wants {schema['minItems']}")
        for i, item in enumerate(value):
            check(schema.get("items", {}), item, f"{where}/{i}", problems)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                bad(f"has no {key}")
        for key, item in value.items():
            if key in properties:
                check(properties[key], item, f"{where}/{key}", problems)
            elif schema.get("additionalProperties", True) is False:
                bad(f"has {key}, which the schema does not know")


def once(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        sys.exit(f"schema.py: a key twice among {keys}")
    return dict(pairs)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    text = sys.stdin.buffer.read().decode("utf-8")  # strict: invalid UTF-8 is an error
    problems = []
    check(schema, json.loads(text, object_pairs_hook=once), "", problems)
    for p in problems:
        print(p)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
