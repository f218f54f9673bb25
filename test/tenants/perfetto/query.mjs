// Opens a trace in Perfetto's own trace processor and prints what SQL finds in it, a
// JSON array for each row:
//
//   node query.mjs FOLDER TRACE SQL
//
// FOLDER is a release of Perfetto's web page, which has the processor as WebAssembly in
// a script for a browser's worker. That script gets just what it needs of one here.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [folder, trace, sql] = process.argv.slice(2);

// Messages are those of Perfetto's protos/perfetto/trace_processor/trace_processor.proto:
// a stream of field 1, each a TraceProcessorRpc.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const SEQUENCE = 1, REQUEST = 2, FATAL = 5, TRACE_DATA = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

// fields yields [field, value] of a message: numbers as BigInt, all else as bytes.
function* fields(message) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const key = Number(next());
    let value;
    switch (key & 7) {
      case 0: value = next(); break;
      case 1: value = message.subarray(at, at += 8); break;
      case 2: { const length = Number(next()); value = message.subarray(at, at += length); break; }
      case 5: value = message.subarray(at, at += 4); break;
      default: throw new Error(`a field of wire type ${key & 7}`);
    }
    yield [key >> 3, value];
  }
}

function* packed(message) {
  for (let at = 0; at < message.length;) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    yield BigInt.asIntN(64, value);
  }
}

// startProcessor returns a function that asks the processor and gives its answers.
function startProcessor() {
  const answers = [];
  const port = { postMessage: (message) => answers.push(Buffer.from(message)) };
  class XMLHttpRequest { // only to read the WebAssembly, at once
    open(_, path) { this.path = path; }
    send() { this.response = Uint8Array.from(readFileSync(join(folder, this.path))).buffer; }
  }
  const worker = {
    XMLHttpRequest, TextDecoder, TextEncoder, URL, performance, crypto, setTimeout, clearTimeout, setInterval, clearInterval,
    console: { ...console, log() {}, warn() {} },
    WorkerGlobalScope: class {}, location: { href: "http://localhost/engine_bundle.js" },
  };
  worker.self = worker;
  vm.createContext(worker);
  vm.runInContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), worker);
  const Bytes = vm.runInContext("Uint8Array", worker); // it takes no others
  worker.onmessage({ data: port });
  let sequence = 0;
  return async (request, ...parts) => {
    await new Promise((done) => setTimeout(done, 0)); // the processor starts by promises
    const rpc = Buffer.concat([number(SEQUENCE, ++sequence), number(REQUEST, request), ...parts]);
    port.onmessage({ data: Bytes.from(bytes(1, rpc)) });
    const found = [];
    for (const answer of answers.splice(0)) {
      for (const [, message] of fields(answer)) {
        for (const [field, value] of fields(message)) {
          if (field === FATAL) throw new Error(value.toString());
          found.push([field, value]);
        }
      }
    }
    return found;
  };
}

// rowsOf decodes the batches of a result: cells by column in turn, of which only the
// kinds are together; values wait in a row of their kind.
function* rowsOf(results) {
  let names = [], row = [];
  for (const result of results) {
    for (const [field, value] of fields(result)) {
      if (field === 1) names.push(value.toString());
      if (field === 2 && value.length > 0) throw new Error(value.toString());
      if (field !== 3) continue;
      const batch = { kinds: [], numbers: [], floats: [], texts: [] };
      for (const [part, content] of fields(value)) {
        if (part === 1) batch.kinds.push(...packed(content));
        if (part === 2) batch.numbers.push(...packed(content));
        if (part === 3) for (let at = 0; at < content.length; at += 8) batch.floats.push(content.readDoubleLE(at));
        if (part === 5) batch.texts.push(...content.toString().split("\0"));
      }
      for (const kind of batch.kinds) {
        switch (Number(kind)) {
          case 1: row.push(null); break;
          case 2: row.push(Number(batch.numbers.shift())); break;
          case 3: row.push(batch.floats.shift()); break;
          case 4: row.push(batch.texts.shift()); break;
          default: throw new Error(`a cell of kind ${kind}`);
        }
        if (row.length === names.length) {
          yield row;
          row = [];
        }
      }
    }
  }
}

const ask = startProcessor();
const appended = await ask(APPEND, bytes(TRACE_DATA, readFileSync(trace)));
for (const [field, value] of appended) {
  for (const [part, text] of field === APPEND_RESULT ? fields(value) : []) {
    if (part === 2) throw new Error(`${trace} is refused: ${text}`);
  }
}
await ask(FINALIZE);
const answer = await ask(QUERY, bytes(QUERY_ARGS, bytes(1, Buffer.from(sql))));
for (const row of rowsOf(answer.filter(([field]) => field === QUERY_RESULT).map(([, value]) => value))) {
  console.log(JSON.stringify(row));
}
