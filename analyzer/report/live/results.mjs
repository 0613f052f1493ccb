/* The table of both settings, and the difference. */
import { change, count, seconds, size } from './words.mjs';

const SIDES = ['a', 'b'];

/** Rows: element id, value of an answer, how it is written. */
function rowsOf(meta) {
  return meta.run ? [...rowsOfTimes(), ...rowsOfCounts(meta)] : rowsOfCounts(meta);
}

function rowsOfTimes() {
  const part = (name) => (found) => (found.total === undefined ? null : found[name] / 1e9);
  const exact = (value) => seconds(value, 3);
  return [
    ['total', part('total'), exact],
    ['compute', part('compute'), exact],
    ['asleep', (found) => (found.total === undefined ? null
      : Math.max(found.total - found.compute - found.waited, 0) / 1e9), exact],
    ['needed', (found) => (found.total === undefined ? null
      : (found.waited - found.behind) / 1e9), exact],
    ['behind', part('behind'), exact],
  ];
}

function rowsOfCounts(meta) {
  return [
    ['requests', (found) => found.requests, count],
    ['bytes', (found) => found.pages * meta.page_size, size],
    ['unused', (found) => Math.max(found.pages - meta.tap, 0), count],
  ];
}

export class Results {
  constructor(meta) {
    this.rows = rowsOf(meta);
    this.answers = { a: null, b: null };
  }

  /** Show an answer of one side: {requests, pages, and times in ns or none}. */
  show(side, answer) {
    this.answers[side] = answer;
    for (const [name, value, inWords] of this.rows) {
      const [a, b] = SIDES.map((one) => this.answers[one] && value(this.answers[one]));
      this.write(`live-${side}-${name}-value`, side === 'a' ? a : b, inWords);
      document.getElementById(`live-${name}-change`).textContent = change(a, b, inWords);
    }
  }

  write(id, value, inWords) {
    const cell = document.getElementById(id);
    cell.textContent = value === null || value === undefined ? '–' : inWords(value);
  }
}

/** Return the prediction's own answer for a window of the recorded start; null if it has none. */
export function knownAnswer(known, setting) {
  if (!isRecorded(setting)) return null;
  const row = known.window.indexOf(setting.window);
  if (row < 0) return null;
  const found = { requests: known.requests[row], pages: known.pages[row] };
  if (known.total[row] === null || known.compute[row] === null) return found;
  for (const name of ['total', 'compute', 'waited', 'behind']) found[name] = known[name][row] * 1e9;
  return found;
}

/** Return [window, value] of the prediction's own curve; nothing for another disk or kernel. */
export function knownCurve({ known, run }, setting) {
  if (!isRecorded(setting)) return [];
  const values = run ? known.total.map((value) => value && value * 1e9) : known.requests;
  return known.window.map((window, row) => [window, values[row]]).filter(([, value]) => value);
}

function isRecorded(setting) {
  return Object.keys(setting).every((name) => name === 'window' || setting[name] === undefined);
}
