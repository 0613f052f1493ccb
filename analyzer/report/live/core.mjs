/*
 * The emulator's core in WebAssembly, with one recorded start in its memory. The layouts of inputs,
 * counts and runs are those of emulator/wasm/shim.c; tables are records as in emulator/linux/.
 */
import { PACED } from './setting.mjs';

const WORK = 4;
const STEP_BYTES = 64;
const FILE = { stride: 24, largeFolios: 8 };
const INSERT = { stride: 32, file: 0, index: 8, order: 16, operation: 24, cause: 28 };
const RUN = { costs: 8, total: 48, steps: 80, ints: 112, bytes: 128 };

const TEXTS = {
  '-1': 'not enough memory for this start',
  '-4': 'a window or a limit is out of range',
  '-7': 'the kernel cannot have a disk with these numbers',
};

/** A start that is ready to be emulated under any setting. */
export class Core {
  constructor(instance, meta, planes) {
    this.exports = instance.exports;
    this.meta = meta;
    this.tables = {};
    const at = this.allocate(planes.length);
    this.bytes().set(planes, at);
    for (const [name, table] of Object.entries(meta.tables)) {
      this.tables[name] = this.unpacked(table, at);
    }
    this.exports.release(at);
    this.group = this.allocate(4 * this.tables.files.rows);
    this.rules = this.allocate(4 * meta.kernels[0].rules.length);
    this.machine = this.allocate(8 * Object.keys(meta.disks[0].machine).length);
    this.inputs = this.allocate(56);
    this.counted = this.allocate(40);
    this.results = this.allocate(16);
    this.run = this.allocate(RUN.bytes);
    this.bases = new Map();
  }

  allocate(bytes) {
    const at = this.exports.allocate(bytes);
    if (!at) throw new Error(TEXTS['-1']);
    return at;
  }

  // Views are made anew for each use: memory that grows makes older ones empty.
  bytes() { return new Uint8Array(this.exports.memory.buffer); }

  view() { return new DataView(this.exports.memory.buffer); }

  unpacked(table, planes) {
    const to = this.allocate(table.rows * table.stride);
    for (const [offset, size, isDelta, at] of table.columns) {
      this.exports.unpack(planes + at, table.rows, size, isDelta, to + offset, table.stride);
    }
    return { at: to, rows: table.rows, stride: table.stride };
  }

  /** Return a column of 64-bit numbers; they are exact below 2^53. */
  wideColumn(name, offset) {
    const [low, high] = [this.column(name, offset), this.column(name, offset + 4)];
    return Float64Array.from(low, (word, row) => high[row] * 2 ** 32 + word);
  }

  /** Return a column of 32-bit numbers, or of the lower halves of longer ones. */
  column(name, offset) {
    const { at, rows, stride } = this.tables[name];
    const words = new Uint32Array(this.exports.memory.buffer);
    const found = new Uint32Array(rows);
    for (let row = 0; row < rows; row += 1) found[row] = words[(at + row * stride + offset) >> 2];
    return found;
  }

  setKernel(number) {
    const kernel = this.meta.kernels[number];
    new Int32Array(this.exports.memory.buffer, this.rules, kernel.rules.length).set(kernel.rules);
    const bytes = this.bytes();
    const { at, rows } = this.tables.files;
    const kinds = this.tables.file_kinds.at;
    for (let row = 0; row < rows; row += 1) {
      bytes[at + row * FILE.stride + FILE.largeFolios] = kernel.large_folios[bytes[kinds + row]];
    }
    return kernel;
  }

  /** Point the inputs at the operations on one disk. */
  setInputs(disk, kernel, requestsAtOnce) {
    const { operations: [first, behind], machine } = this.meta.disks[disk];
    const numbers = { ...machine }; // in the order of struct lx_machine
    if (kernel.io_pages[disk] !== null) numbers.io_pages = kernel.io_pages[disk];
    if (requestsAtOnce) numbers.nr_requests = requestsAtOnce;
    const view = this.view();
    Object.values(numbers).forEach((n, row) => view.setBigInt64(this.machine + 8 * row, BigInt(n), true));
    const { operations, mappings, handles, files, extents } = this.tables;
    const words = [operations.at + first * operations.stride, behind - first];
    for (const table of [mappings, handles, files, extents]) words.push(table.at, table.rows);
    words.push(this.group, 1, this.rules, this.machine);
    words.forEach((word, row) => view.setUint32(this.inputs + 4 * row, word, true));
  }

  check(error) {
    if (error) throw new Error(TEXTS[error] || `the emulation fails (${error})`);
  }

  /** Return requests and pages read under a window (pages) of a kernel; each(log) sees inserts. */
  counts(window, kernelNumber, each) {
    const kernel = this.setKernel(kernelNumber);
    const found = { requests: 0, pages: 0 };
    this.meta.disks.forEach((disk, number) => {
      this.setInputs(number, kernel);
      const view = this.view();
      view.setBigInt64(this.results, 0n, true);
      view.setBigInt64(this.results + 8, 0n, true);
      [this.results, this.results + 8, 0, 0, each ? 1 : 0].forEach(
        (word, row) => view.setUint32(this.counted + 4 * row, word, true),
      );
      const error = this.exports.emulate(this.inputs, window, this.counted);
      const after = this.view();
      const inserts = after.getUint32(this.counted + 8, true);
      if (!error && each) each(this.inserts(inserts, after.getUint32(this.counted + 12, true)), disk);
      this.exports.release(inserts);
      this.check(error);
      found.requests += Number(after.getBigInt64(this.results, true));
      found.pages += Number(after.getBigInt64(this.results + 8, true));
    });
    return found;
  }

  /** Return columns that read the log of inserts in place. */
  inserts(at, rows) {
    const words = new Uint32Array(this.exports.memory.buffer);
    const word = (row, offset) => words[(at + row * INSERT.stride + offset) >> 2];
    return {
      rows,
      file: (row) => word(row, INSERT.file),
      page: (row) => word(row, INSERT.index + 4) * 2 ** 32 + word(row, INSERT.index),
      pages: (row) => 2 ** word(row, INSERT.order),
      operation: (row) => word(row, INSERT.operation),
      cause: (row) => word(row, INSERT.cause),
    };
  }

  /** Return seconds, and their parts, of a start under a window (pages); null if unknown. */
  seconds(window, kernelNumber, cpus, device) {
    if (!this.meta.run) return null;
    const kernel = this.setKernel(kernelNumber);
    const limited = device[0] === PACED ? this.meta.run.most_requests : 0;
    this.setInputs(0, kernel, limited);
    const base = this.base(kernelNumber, cpus, device);
    const { cost, unplugged_ns: unplugged } = this.meta.run;
    if (!unplugged || !window) {
      return this.timed(window, this.tables.steps.at, cpus, device, cost, base.work, this.work());
    }
    const spared = [Math.max(cost[0] - unplugged, 0), ...cost.slice(1)];
    return this.timed(window, base.steps, cpus, device, spared, base.work, this.work());
  }

  work() {
    if (!this.spareWork) this.spareWork = this.allocate(8 * WORK * this.tables.steps.rows);
    return this.spareWork;
  }

  /** The run at its recorded window on this disk: what costs are counted from. */
  base(kernelNumber, cpus, device) {
    const key = JSON.stringify([kernelNumber, cpus, device.map(String)]);
    if (this.bases.has(key)) return this.bases.get(key);
    for (const [old, base] of this.bases) { // two settings, and room for one more
      if (this.bases.size < 3) break;
      this.exports.release(base.work);
      if (base.steps) this.exports.release(base.steps);
      this.bases.delete(old);
    }
    const { at, rows } = this.tables.steps;
    const base = { work: this.allocate(8 * WORK * rows), steps: 0 };
    this.timed(0, at, cpus, device, [0, 0, 0, 0, 0], 0, base.work);
    const unplugged = this.meta.run.unplugged_ns;
    if (unplugged) {
      base.steps = this.allocate(STEP_BYTES * rows);
      this.exports.spare(this.inputs, at, rows, base.work, unplugged, base.steps);
    }
    this.bases.set(key, base);
    return base;
  }

  timed(window, steps, cpus, device, cost, recorded, work) {
    const { run } = this.meta;
    const numbers = this.allocate(8 * device.length);
    const ends = this.allocate(8 * run.n_ends);
    const view = this.view();
    device.forEach((n, row) => view.setFloat64(numbers + 8 * row, n, true));
    [run.tail_ns, ...cost].forEach((n, row) => view.setFloat64(this.run + 8 * row, n, true));
    const words = [steps, this.tables.steps.rows, numbers, device.length, recorded, work, ends];
    [...words, run.n_ends].forEach(
      (word, row) => view.setUint32(this.run + RUN.steps + 4 * row, word, true),
    );
    view.setInt32(this.run + RUN.ints, cpus, true);
    view.setInt32(this.run + RUN.ints + 4, run.ends, true);
    const error = this.exports.replay(this.inputs, window, this.run);
    this.exports.release(numbers);
    this.exports.release(ends);
    this.check(error);
    const after = this.view();
    const [total, compute, waited, behind] = [0, 1, 2, 3].map(
      (row) => after.getFloat64(this.run + RUN.total + 8 * row, true),
    );
    return { total, compute, waited, behind };
  }
}

/** Return the core with a start; both are compressed by gzip. */
export async function loadCore(wasm, meta, planes) {
  const { instance } = await WebAssembly.instantiate(await gunzip(wasm), {});
  instance.exports._initialize();
  return new Core(instance, meta, await gunzip(planes));
}

async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
