/* The curve of both settings: seconds by window, or requests where there are no seconds. */
import { count, seconds } from './words.mjs';

const [HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [230, 52, 20, 34, 10];
const [TICKS, LEAST_WIDTH, LABEL_WIDTH, DIGIT_WIDTH] = [4, 240, 44, 8];

export class Curve {
  constructor(meta, svg) {
    [this.meta, this.svg] = [meta, svg];
    this.points = { a: new Map(), b: new Map() };
    this.windows = { a: 0, b: 0 };
    [this.width, this.left] = [LEAST_WIDTH, LEFT];
    new ResizeObserver(() => this.draw()).observe(svg);
  }

  clear(side) { this.points[side].clear(); }

  add(side, window, value) { this.points[side].set(window, value); }

  x(window) {
    const share = Math.log2(window + 1) / Math.log2(this.meta.windows.most + 1);
    return this.left + share * (this.width - this.left - RIGHT);
  }

  draw() {
    this.width = Math.max(this.svg.clientWidth, LEAST_WIDTH);
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT}`);
    const values = ['a', 'b'].flatMap((side) => [...this.points[side].values()]);
    const step = niceStep(Math.max(...values, 1) / TICKS, this.meta.run ? 1e9 : 1);
    const most = Math.max(Math.ceil(Math.max(...values, 1) / step), 1) * step;
    this.left = Math.max(LEFT, this.words(step)(most).length * DIGIT_WIDTH + 8);
    const y = (value) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - TOP);
    this.svg.closest('.of-answers').classList.toggle('drawn', values.length > 0);
    this.svg.replaceChildren(...this.axes(step, most, y), ...this.side('a', y), ...this.side('b', y));
  }

  /** Return how values on the axis are written. */
  words(step) {
    const digits = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
    return this.meta.run ? (value) => seconds(value / 1e9, digits) : count;
  }

  axes(step, most, y) {
    const [found, right, inWords] = [[], this.width - RIGHT, this.words(step)];
    for (let value = 0; value <= most * 1.001; value += step) {
      found.push(element('line', { x1: this.left, x2: right, y1: y(value), y2: y(value), class: 'grid' }));
      found.push(text(this.left - 6, y(value) + 4, inWords(value), 'end'));
    }
    const pageKib = this.meta.page_size / 1024;
    let free = this.x(0);
    found.push(text(free, HEIGHT - 18, '0', 'middle'));
    for (let window = 1; window <= this.meta.windows.most + 1; window *= 2) {
      const x = this.x(window);
      if (x - free < LABEL_WIDTH || x > right) continue;
      found.push(text(x, HEIGHT - 18, `${window * pageKib}`, 'middle'));
      free = x;
    }
    found.push(text(right, HEIGHT - 3, 'window in KiB', 'end'));
    return found;
  }

  side(side, y) {
    const rows = [...this.points[side]].sort((one, other) => one[0] - other[0]);
    if (!rows.length) return [];
    const line = rows.map(([window, value]) => `${this.x(window).toFixed(1)},${y(value).toFixed(1)}`);
    const found = [element('polyline', { points: line.join(' '), class: `curve ${side}` })];
    const here = this.points[side].get(this.windows[side]);
    if (here === undefined) return found;
    const at = { cx: this.x(this.windows[side]), cy: y(here), r: 5, class: `here ${side}` };
    return [...found, element('circle', at)];
  }

  /** Return the windows of the ladder that are not on the curve yet. */
  missing(side) {
    return this.meta.windows.ladder.filter((window) => !this.points[side].has(window));
  }

  /** Return the window with the fewest seconds of those on the curve, once all are. */
  best(side) {
    if (!this.meta.run || this.missing(side).length) return null;
    return [...this.points[side]].reduce((best, one) => (
      one[1] < best[1] || (one[1] === best[1] && one[0] < best[0]) ? one : best
    ))[0];
  }
}

/** Return 1, 2 or 5 times a power of ten, at least a number, in a unit. */
function niceStep(least, unit) {
  const power = 10 ** Math.floor(Math.log10(least / unit));
  const factor = [1, 2, 5, 10].find((one) => one * power * unit >= least * 0.999);
  return factor * power * unit;
}

function element(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function text(x, y, words, anchor) {
  const made = element('text', { x, y, 'text-anchor': anchor });
  made.textContent = words;
  return made;
}
