/* Draws the map into pixels, and finds what is under the pointer. */
import { UNUSED } from './pages.mjs';

const REACH = 6; // pixels around the pointer

/**
 * Return pixels (RGBA) of ``size`` and, by pixel, the mark + 1 that is drawn there: an access, or
 * after all of them an unused page. ``view`` is {from, to: seconds, low, high: heights}.
 */
export function drawn(pages, map, view, size, colours, chosen) {
  const paper = {
    pixels: new Uint32Array(size.width * size.height),
    marks: new Uint32Array(size.width * size.height),
    width: size.width,
    height: size.height,
  };
  const perPage = size.height / (view.high - view.low);
  const dot = dotOf(size, perPage, pages.file.length);
  const words = colours.map(asWord);
  if (chosen >= 0) shade(paper, view, pages.low[chosen], pages.high[chosen], words[3]);
  const { kind, unused } = map;
  const accessed = { time: pages.time, y: pages.y, first: 0, right: 0 };
  putAll(paper, view, dot, accessed, (row) => words[kind[row]]);
  const beside = { time: unused.time, y: unused.y, first: pages.file.length, right: dot };
  putAll(paper, view, dot, beside, () => words[UNUSED]);
  return { pixels: paper.pixels, marks: paper.marks };
}

/**
 * Put marks of ``dot`` pixels, ``right`` pixels beside their time; ``first`` is their number. What is
 * there already keeps every second pixel, so that neither hides the other.
 */
function putAll(paper, view, dot, { time, y, first, right }, colour) {
  const { pixels, marks, width, height } = paper;
  const { from, high } = view;
  const [perSecond, perPage] = [width / (view.to - from), height / (high - view.low)];
  const tall = Math.max(dot, Math.min(Math.round(perPage), 12));
  const isSmall = dot === 1 && tall === 1;
  for (let row = 0; row < time.length; row += 1) {
    const x = Math.floor((time[row] - from) * perSecond) + right;
    const top = Math.floor((high - y[row] - 1) * perPage);
    if (x <= -dot || x >= width || top <= -tall || top >= height) continue;
    if (isSmall) {
      put(top * width + x, x ^ top, colour(row), first + row + 1);
      continue;
    }
    const [end, behind] = [Math.min(x + dot, width), Math.min(top + tall, height)];
    for (let line = Math.max(top, 0); line < behind; line += 1) {
      for (let column = Math.max(x, 0); column < end; column += 1) {
        put(line * width + column, column ^ line, colour(row), first + row + 1);
      }
    }
  }

  function put(at, parity, word, mark) {
    if (right && marks[at] && parity & 1) return;
    pixels[at] = word;
    marks[at] = mark;
  }
}

function dotOf(size, perPage, accesses) {
  const few = accesses < 5000 ? 3 : accesses < 50000 ? 2 : 1;
  return Math.max(Math.min(Math.round(perPage), 4), few * Math.max(1, Math.round(size.scale)));
}

function shade({ pixels, width, height }, view, low, high, word) {
  const perPage = height / (view.high - view.low);
  const top = Math.max(Math.floor((view.high - high) * perPage), 0);
  const behind = Math.min(Math.ceil((view.high - low) * perPage), height);
  if (behind > top) pixels.fill(word, top * width, behind * width);
}

/** Return a colour "#rrggbb" as a pixel on a little-endian machine. */
function asWord(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (255 * 2 ** 24 + blue * 2 ** 16 + green * 2 ** 8 + red) >>> 0;
}

/** Return the mark that is nearest to a pixel, -1 if none is near. */
export function markAt(marks, size, x, y) {
  let [found, nearest] = [-1, Infinity];
  for (let row = y - REACH; row <= y + REACH; row += 1) {
    for (let column = x - REACH; column <= x + REACH; column += 1) {
      if (row < 0 || column < 0 || row >= size.height || column >= size.width) continue;
      const mark = marks[row * size.width + column];
      const distance = (row - y) ** 2 + (column - x) ** 2;
      if (mark && distance < nearest) [found, nearest] = [mark - 1, distance];
    }
  }
  return found;
}

/** Return what a mark stands for. */
export function describe(pages, map, mark) {
  const accesses = pages.file.length;
  if (mark < accesses) {
    return {
      file: pages.file[mark],
      page: pages.page[mark],
      kind: map.kind[mark],
      accessed: pages.time[mark],
      read: map.cause[mark] === 255 ? null : map.readAt[mark],
      cause: map.cause[mark],
    };
  }
  const { unused } = map;
  const row = mark - accesses;
  return {
    file: unused.file[row],
    page: unused.page[row],
    kind: UNUSED,
    accessed: null,
    read: unused.time[row],
    cause: unused.cause[row],
  };
}
