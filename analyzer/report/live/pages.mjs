/*
 * Where each page stands on the map, and what becomes of it under a setting: read when it was
 * needed, read ahead of that, or read and never accessed.
 */
export const [NEEDED, AHEAD, UNUSED] = [0, 1, 2];
const CHUNK_BITS = 10; // pages of one array
const CHUNKS = 2 ** 26; // at most, of a file
const LINEAR = 32; // pages of a gap that are drawn at full height
const PER_DOUBLING = 8; // and what each doubling of a longer one adds
const MOST_OUTSIDE = 1024; // pages before the first and after the last access that have room

/** Numbers by (file, page); 0 where there is none. */
class PageTable {
  constructor() {
    this.chunks = new Map();
    this.key = -1;
    this.chunk = null;
  }

  find(file, page, make) {
    const key = file * CHUNKS + Math.floor(page / 2 ** CHUNK_BITS);
    if (key !== this.key) {
      this.key = key;
      this.chunk = this.chunks.get(key) || null;
    }
    if (!this.chunk && make) {
      this.chunk = new Uint32Array(2 ** CHUNK_BITS);
      this.chunks.set(key, this.chunk);
    }
    return this.chunk;
  }

  get(file, page) {
    const chunk = this.find(file, page, false);
    return chunk ? chunk[page % 2 ** CHUNK_BITS] : 0;
  }

  set(file, page, value) {
    this.find(file, page, true)[page % 2 ** CHUNK_BITS] = value;
  }
}

/** The accesses of a start, and the height of each page on the map. */
export class Pages {
  constructor(core) {
    this.core = core;
    const { meta, tables } = core;
    this.page = core.wideColumn('accesses', 0);
    this.file = core.column('accesses', 8);
    this.time = Float32Array.from(core.column('accesses', 12), (us) => us / 1e6);
    this.operationTime = core.column('times_us', 0);
    this.rows = new PageTable(); // access + 1
    for (let row = 0; row < tables.accesses.rows; row += 1) {
      this.rows.set(this.file[row], this.page[row], row + 1);
    }
    this.sizes = pagesOfFiles(core);
    this.sectors = meta.page_size / 512;
    this.extents = this.storedExtents();
    this.layOut(meta.paths.length);
    this.y = Float32Array.from(this.page, (page, row) => this.height(this.file[row], page));
    this.operation = this.operationsOf();
    this.end = this.time.reduce((most, time) => Math.max(most, time), 1e-6) * 1.01;
  }

  /** Stack the files by first access; what nobody accesses is shortened, as by a logarithm. */
  layOut(files) {
    const byFile = Array.from({ length: files }, () => []);
    this.order = [];
    for (let row = 0; row < this.file.length; row += 1) {
      const file = this.file[row];
      if (!byFile[file].length) this.order.push(file);
      byFile[file].push(this.page[row]);
    }
    this.segments = new Array(files);
    this.low = new Float64Array(files);
    this.high = new Float64Array(files);
    const between = Math.max(1, this.file.length / 400);
    let y = 0;
    for (const file of this.order) {
      const pages = Float64Array.from(byFile[file]).sort();
      this.low[file] = y;
      y = this.setSegments(file, pages, y);
      const rest = Math.max(this.sizes[file] - pages[pages.length - 1] - 1, 0);
      y += shortened(Math.min(rest, MOST_OUTSIDE));
      this.high[file] = y;
      y += between;
    }
    this.top = Math.max(y - between, 1);
  }

  /** Note each stretch of pages without a long gap; return the height after the last access. */
  setSegments(file, pages, low) {
    const [start, behind] = [[pages[0]], []];
    const at = [low + shortened(Math.min(pages[0], MOST_OUTSIDE))];
    for (let row = 1; row <= pages.length; row += 1) {
      const gap = row < pages.length ? pages[row] - pages[row - 1] - 1 : Infinity;
      if (gap > LINEAR) {
        const end = pages[row - 1] + 1;
        behind.push(end);
        if (row === pages.length) break;
        at.push(at[at.length - 1] + (end - start[start.length - 1]) + shortened(gap));
        start.push(pages[row]);
      }
    }
    this.segments[file] = { start, behind, at };
    const last = start.length - 1;
    return at[last] + (behind[last] - start[last]);
  }

  /** Return the height of a page: also of one in a gap, or outside of what was accessed. */
  height(file, page) {
    const segments = this.segments[file];
    if (!segments) return -1;
    const { start, behind, at } = segments;
    const row = lastBelow(start, page + 1);
    if (row < 0) return Math.max(at[0] - shortened(start[0] - page), this.low[file]);
    if (page < behind[row]) return at[row] + (page - start[row]);
    const y = at[row] + (behind[row] - start[row]) + shortened(page - behind[row] + 1) - 1;
    return Math.min(y, this.high[file]);
  }

  /** Return the operation that reads each access without readahead. */
  operationsOf() {
    const found = new Uint32Array(this.file.length).fill(2 ** 32 - 1);
    this.core.counts(0, this.core.meta.recorded_kernel.row, (inserts, disk) => {
      for (let row = 0; row < inserts.rows; row += 1) {
        const [file, first, pages] = [inserts.file(row), inserts.page(row), inserts.pages(row)];
        for (let page = first; page < first + pages; page += 1) {
          const access = this.rows.get(file, page);
          if (access) found[access - 1] = disk.operations[0] + inserts.operation(row);
        }
      }
    });
    return found;
  }

  /** Return what becomes of each page under a window (pages) of a kernel. */
  under(window, kernel) {
    const accesses = this.file.length;
    const map = {
      kind: new Uint8Array(accesses),
      cause: new Uint8Array(accesses).fill(255),
      readAt: new Float32Array(accesses),
      unused: { file: [], page: [], time: [], y: [], cause: [] },
      byFile: new Map(),
    };
    this.core.counts(window, kernel, (inserts, disk) => {
      for (let row = 0; row < inserts.rows; row += 1) this.note(map, inserts, row, disk);
    });
    map.unused.time = Float32Array.from(map.unused.time);
    map.unused.y = Float32Array.from(map.unused.y);
    return map;
  }

  note(map, inserts, row, disk) {
    const [file, first, pages] = [inserts.file(row), inserts.page(row), inserts.pages(row)];
    const [operation, cause] = [disk.operations[0] + inserts.operation(row), inserts.cause(row)];
    const time = this.operationTime[operation] / 1e6;
    for (let page = first; page < first + pages; page += 1) {
      const access = this.rows.get(file, page) - 1;
      if (access >= 0) {
        map.kind[access] = operation < this.operation[access] ? AHEAD : NEEDED;
        map.cause[access] = cause;
        map.readAt[access] = time;
      } else if (this.segments[file] && this.isRead(file, page)) {
        const { unused } = map;
        unused.file.push(file);
        unused.page.push(page);
        unused.time.push(time);
        unused.y.push(this.height(file, page));
        unused.cause.push(cause);
        map.byFile.set(file, (map.byFile.get(file) || 0) + 1);
      }
    }
  }

  /** Whether a page is within its file and stored on the disk: others are made, not read. */
  isRead(file, page) {
    if (this.sizes[file] && page >= this.sizes[file]) return false;
    const extents = this.extents[file];
    if (!extents) return true;
    const row = lastBelow(extents.at, (page + 1) * this.sectors);
    return row >= 0 && extents.behind[row] > page * this.sectors;
  }

  /** Return by file where its stored sectors begin and end; nothing of a file in one piece. */
  storedExtents() {
    const { core } = this;
    const [file, read] = [core.column('extents', 0), core.column('extents', 32)];
    const [at, sectors] = [core.wideColumn('extents', 8), core.wideColumn('extents', 24)];
    const blocks = core.column('files', 12);
    const found = [];
    for (let row = 0; row < file.length; row += 1) {
      const one = file[row];
      if (blocks[one]) continue; // a compressed block is read as a whole
      if (!found[one]) found[one] = { at: [], behind: [] };
      if (!(read[row] & 1)) continue;
      found[one].at.push(at[row]);
      found[one].behind.push(at[row] + sectors[row]);
    }
    return found;
  }

  /** Return [file, accessed, read ahead, unused] of each file, most pages first. */
  filesOf(map) {
    const found = new Map(this.order.map((file) => [file, [file, 0, 0, 0]]));
    for (let row = 0; row < this.file.length; row += 1) {
      const one = found.get(this.file[row]);
      one[1] += 1;
      one[2] += map.kind[row] === AHEAD ? 1 : 0;
    }
    for (const [file, unused] of map.byFile) found.get(file)[3] = unused;
    return [...found.values()].sort((a, b) => b[1] + b[3] - a[1] - a[3] || a[0] - b[0]);
  }
}

function shortened(gap) {
  return gap <= LINEAR ? gap : LINEAR + PER_DOUBLING * Math.log2(gap / LINEAR);
}

/** Return the last row of rising numbers that is below another one; -1 if none is. */
function lastBelow(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1; else high = middle;
  }
  return low - 1;
}

/** Return the length of each file in pages; 0 where it is unknown. */
function pagesOfFiles(core) {
  const unknown = 2 ** 63;
  return core.wideColumn('files', 0).map((bytes) => (
    bytes >= unknown ? 0 : Math.ceil(bytes / core.meta.page_size)
  ));
}
