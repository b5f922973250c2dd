// mcp_sdk.mjs PLACE - a client of the TypeScript SDK that is installed below PLACE, told on standard input what to call.
// Input: {era, command, args, steps: [[tool, arguments]]}; output: {version, tools, resources, results}, as JSON.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const from = createRequire(pathToFileURL(process.argv[2] + "/x.js"));
const load = async (name) => import(pathToFileURL(from.resolve(name)).href);
const { era, command, args, steps } = JSON.parse(readFileSync(0, "utf8"));
const about = { name: "test", version: "1" };
let client, transport;

if (era === "old") {
	const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
	const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
	client = new Client(about);
	transport = new StdioClientTransport({ command, args, env: process.env });
} else {
	const { Client } = await load("@modelcontextprotocol/client");
	const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
	client = new Client(about, { versionNegotiation: { mode: era === "new" ? { pin: "2026-07-28" } : era } });
	transport = new StdioClientTransport({ command, args, env: process.env });
}
await client.connect(transport);

const { tools } = await client.listTools();
const { resources } = await client.listResources();
const results = [];
for (const [name, given] of steps) {
	try {
		results.push(await client.callTool({ name, arguments: given }));
	} catch (error) {
		results.push({ thrown: String(error.message), code: error.code ?? null });
	}
}
const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? transport._protocolVersion ?? "";
await client.close();
console.log(JSON.stringify({ version, server: client.getServerVersion?.() ?? null, tools, resources, results }));
