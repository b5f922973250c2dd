"""mcp_messages.py - the protocol's schema of every message that a server of tools and resources sends, in both eras.

A subset of schema/2025-11-25 and schema/2026-07-28 of the specification and of its tasks extension, written for schema.py: the
members that berth has a use for, with their types.  A member that is not listed here is an error, so that one that is misspelt is found.

check(MESSAGE, METHOD, NEW): what is wrong with it, a list of sentences.  METHOD: of the request that it answers, None if that is not known.
"""
import base64
import binascii

import schema

VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = "io.modelcontextprotocol/"
TASKS = META + "tasks"


def obj(must=None, /, **optional):
    must = must or {}
    return {"type": "object", "properties": must | optional, "required": sorted(must), "additionalProperties": False}


def array(items, least=0):
    return {"type": "array", "items": items, "minItems": least}


ANY, TEXT, WORDS, FLAG = {}, {"type": "string"}, {"type": "string", "minLength": 1}, {"type": "boolean"}
COUNT, NUMBER, ID = {"type": "integer", "minimum": 0}, {"type": "number"}, {"type": ["string", "integer"]}
EMPTY = obj()
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
URI = {"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*:[!-~]+$"}
WHO = obj({"name": WORDS, "version": WORDS}, title=WORDS)
# What a schema of arguments may consist of: those of all tools are of these.
TYPES = {"enum": ["object", "array", "string", "integer", "number", "boolean"]}
SCHEMA = obj({"type": {"const": "object"}}, properties={"type": "object"}, required=array(WORDS), additionalProperties={"type": ["boolean", "object"]})
TOOL = obj({"name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"}, "description": WORDS, "inputSchema": SCHEMA, "outputSchema": SCHEMA,
            "annotations": obj({"readOnlyHint": FLAG, "openWorldHint": FLAG}, destructiveHint=FLAG, idempotentHint=FLAG)}, title=WORDS)
CAPABILITIES = {"tools": obj(listChanged=FLAG), "resources": obj(subscribe=FLAG, listChanged=FLAG)}
RESOURCE = obj({"uri": URI, "name": WORDS}, title=WORDS, description=WORDS, mimeType=WORDS)
TEMPLATE = obj({"uriTemplate": URI, "name": WORDS}, title=WORDS, description=WORDS, mimeType=WORDS)
CONTENTS = {"text": obj({"uri": URI, "text": TEXT}, mimeType=WORDS), "blob": obj({"uri": URI, "blob": TEXT}, mimeType=WORDS)}
BLOCKS = {"text": obj({"type": ANY, "text": TEXT}), "image": obj({"type": ANY, "data": WORDS, "mimeType": WORDS}),
          "audio": obj({"type": ANY, "data": WORDS, "mimeType": WORDS}), "resource": obj({"type": ANY, "resource": {"type": "object"}})}
TASK = {"taskId": WORDS, "status": {"enum": ["working", "input_required", "completed", "failed", "cancelled"]}, "createdAt": TIME,
        "lastUpdatedAt": TIME, "ttlMs": {"type": ["integer", "null"]}}
TASK_MORE = {"statusMessage": WORDS, "pollIntervalMs": COUNT}
CALL = {"content": array({"type": "object"}), "isError": FLAG, "structuredContent": {"type": "object"}}
# Members that each of them has: of 2025-11-25, and what 2026-07-28 adds to those of a list, and to all.
OLD = {
    "initialize": obj({"protocolVersion": {"enum": VERSIONS[1:]}, "capabilities": obj(**CAPABILITIES), "serverInfo": WHO}, instructions=WORDS),
    "ping": EMPTY, "resources/subscribe": EMPTY, "resources/unsubscribe": EMPTY,
    "tools/list": obj({"tools": array(TOOL)}, nextCursor=WORDS),
    "tools/call": obj({"content": CALL["content"]}, isError=FLAG, structuredContent=CALL["structuredContent"]),
    "resources/list": obj({"resources": array(RESOURCE)}, nextCursor=WORDS),
    "resources/templates/list": obj({"resourceTemplates": array(TEMPLATE)}, nextCursor=WORDS),
    "resources/read": obj({"contents": array({"type": "object"}, 1)}),
}
CACHED = {"ttlMs": COUNT, "cacheScope": {"enum": ["private", "public"]}}
COMPLETE = {"resultType": {"const": "complete"}}
SERVED = {"_meta": obj(**{META + "serverInfo": WHO})}
LISTENED = {"_meta": obj({META + "subscriptionId": ID}, **{META + "serverInfo": WHO})}


def newer(old, more=None):
    return obj({k: v for k, v in old["properties"].items() if k in old["required"]} | COMPLETE | (more or {}),
               **{k: v for k, v in old["properties"].items() if k not in old["required"]}, **SERVED)


NEW = {m: newer(OLD[m], CACHED) for m in ("tools/list", "resources/list", "resources/templates/list", "resources/read")} | {
    "tools/call": newer(OLD["tools/call"]),
    "server/discover": newer(obj({"supportedVersions": array({"enum": VERSIONS}, 1),
                                  "capabilities": obj(extensions=obj(**{TASKS: EMPTY}), **CAPABILITIES)}, instructions=WORDS), CACHED),
    "subscriptions/listen": obj(COMPLETE | LISTENED),
    "tasks/get": newer(obj(TASK, **TASK_MORE, result={"type": "object"})), "tasks/update": newer(EMPTY), "tasks/cancel": newer(EMPTY),
}
BECOMES_TASK = obj({"resultType": {"const": "task"}} | TASK, **TASK_MORE, **SERVED)
NOTES = {
    "notifications/progress": obj({"progressToken": ID, "progress": NUMBER}, total=NUMBER, message=WORDS),
    "notifications/resources/updated": obj({"uri": URI}, **LISTENED),
    "notifications/subscriptions/acknowledged": obj({"notifications": obj(resourceSubscriptions=array(URI), taskIds=array(WORDS))} | LISTENED),
    "notifications/tasks": obj(TASK | LISTENED, **TASK_MORE, result={"type": "object"}),
}
ERRORS = {c: ANY for c in (-32700, -32600, -32601, -32603)} | {
    -32602: obj(uri=TEXT), -32002: obj({"uri": TEXT}),
    -32021: obj({"requiredCapabilities": {"type": "object"}}),
    -32022: obj({"supported": array({"enum": VERSIONS}, 1), "requested": TEXT}),
}
ONLY_OLD, ONLY_NEW = {-32002}, {-32021, -32022}


def check_bytes(text, where, problems):
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        problems.append(f"{where}: is not base64")


def check_contents(value, where, problems):
    kind = "blob" if "blob" in value else "text"
    schema.check(CONTENTS[kind], value, where, problems)
    if kind == "blob" and isinstance(value["blob"], str):
        check_bytes(value["blob"], where + "/blob", problems)


def check_blocks(blocks, where, problems):
    for i, block in enumerate(blocks):
        at = f"{where}/{i}"
        if not isinstance(block, dict) or block.get("type") not in BLOCKS:
            problems.append(f"{at}: is no block of content")
            continue
        schema.check(BLOCKS[block["type"]], block, at, problems)
        if isinstance(block.get("data"), str):
            check_bytes(block["data"], at + "/data", problems)
        if isinstance(block.get("resource"), dict):
            check_contents(block["resource"], at + "/resource", problems)


def check_schema(value, where, problems):
    """Of arguments or results: each member has a type, and what is required is described."""
    if not isinstance(value, dict):
        problems.append(f"{where}: is no schema")
        return
    if "type" in value:
        schema.check(TYPES if isinstance(value["type"], str) else array(TYPES | {"enum": TYPES["enum"] + ["null"]}, 1), value["type"], where + "/type", problems)
    known = value.get("properties", {})
    for name in value.get("required", []):
        if name not in known:
            problems.append(f"{where}: requires {name}, which it does not describe")
    for name, member in known.items():
        check_schema(member, f"{where}/{name}", problems)
    for name in ("items", "additionalProperties"):
        if isinstance(value.get(name), dict):
            check_schema(value[name], f"{where}/{name}", problems)


def check_call(result, where, problems):
    if isinstance(result.get("content"), list):
        check_blocks(result["content"], where + "/content", problems)


def check_task(task, new, where, problems):
    """Only one that is completed has a result, and that is the answer of a call."""
    if ("result" in task) != (task.get("status") == "completed"):
        problems.append(f"{where}: has {'a' if 'result' in task else 'no'} result, and is {task.get('status')}")
    elif "result" in task:
        check_result(task["result"], "tools/call", new, where + "/result", problems)


def check_result(result, method, new, where, problems):
    known = NEW if new else OLD
    if method is None:
        return
    if method not in known:
        problems.append(f"{where}: {method} has no result")
        return
    what = BECOMES_TASK if new and method == "tools/call" and result.get("resultType") == "task" else known[method]
    schema.check(what, result, where, problems)
    if what is BECOMES_TASK:
        return
    if method == "tools/call":
        check_call(result, where, problems)
    elif method == "tasks/get":
        check_task(result, new, where, problems)
    elif method == "tools/list":
        for tool in result.get("tools", []):
            for name in ("inputSchema", "outputSchema"):
                check_schema(tool.get(name), f"{where}/{tool.get('name')}/{name}", problems)
    elif method == "resources/read":
        for i, contents in enumerate(result.get("contents", [])):
            check_contents(contents, f"{where}/contents/{i}", problems)


def check_error(error, new, problems):
    schema.check(obj({"code": {"type": "integer"}, "message": WORDS}, data=ANY), error, "/error", problems)
    code = error.get("code")
    if code not in ERRORS or (new is not None and code in (ONLY_OLD if new else ONLY_NEW)):
        problems.append(f"/error/code: {code} is none of this era's")
    elif "data" in error or ERRORS[code].get("required"):
        schema.check(ERRORS[code], error.get("data"), "/error/data", problems)


def check(message, method, new):
    problems = []
    if not isinstance(message, dict):
        return ["it is no object"]
    # As the client spelt it: 77.0 is a whole number, too.
    if isinstance(message.get("id"), float) and message["id"].is_integer():
        message = message | {"id": int(message["id"])}
    if "method" in message:
        schema.check(obj({"jsonrpc": {"const": "2.0"}, "method": {"enum": sorted(NOTES)}, "params": {"type": "object"}}), message, "", problems)
        if not problems:
            schema.check(NOTES[message["method"]], message["params"], "/params", problems)
            if message["method"] == "notifications/tasks":
                check_task(message["params"], True, "/params", problems)
    elif "error" in message:
        # An id that could not be read is null: so JSON-RPC has it.
        schema.check(obj({"jsonrpc": {"const": "2.0"}, "id": {"type": ["string", "integer", "null"]}, "error": {"type": "object"}}), message, "", problems)
        if not problems:
            check_error(message["error"], new, problems)
    else:
        schema.check(obj({"jsonrpc": {"const": "2.0"}, "id": ID, "result": {"type": "object"}}), message, "", problems)
        if not problems:
            check_result(message["result"], method, new, "/result", problems)
    return problems
