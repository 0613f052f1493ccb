/* Draws the map into pixels, and finds what is under the pointer. */
import { UNUSED } from './pages.mjs';

const REACH = 6; // pixels around the pointer

/**
 * Return pixels (RGBA) of ``size`` and, by pixel, the mark + 1 that is drawn there: an access, or
 * after all of them an unused page. ``view`` is {from, to: seconds, low, high: heights}.
 */
export function drawn(pages, map, view, size, colours, chosen) {
  const { width, height } = size;
  const pixels = new Uint32Array(width * height);
  const marks = new Uint32Array(width * height);
  const [perSecond, perPage] = [width / (view.to - view.from), height / (view.high - view.low)];
  const dot = dotOf(size, perPage, pages.file.length);
  const kinds = colours.map(asWord);
  if (chosen >= 0) shade(pixels, size, view, pages.low[chosen], pages.high[chosen], kinds[3]);

  function put(mark, time, y, kind) {
    const x = Math.floor((time - view.from) * perSecond) + (kind === UNUSED ? dot : 0);
    const top = Math.floor((view.high - y - 1) * perPage);
    if (x < -dot || x >= width || top < -dot - perPage || top >= height) return;
    const tall = Math.max(dot, Math.min(Math.round(perPage), 12));
    for (let row = Math.max(top, 0); row < Math.min(top + tall, height); row += 1) {
      for (let column = Math.max(x, 0); column < Math.min(x + dot, width); column += 1) {
        pixels[row * width + column] = kinds[kind];
        marks[row * width + column] = mark + 1;
      }
    }
  }

  const { unused } = map;
  const accesses = pages.file.length;
  for (let row = 0; row < unused.page.length; row += 1) {
    put(accesses + row, unused.time[row], unused.y[row], UNUSED);
  }
  for (let row = 0; row < accesses; row += 1) {
    put(row, pages.time[row], pages.y[row], map.kind[row]);
  }
  return { pixels, marks };
}

function dotOf(size, perPage, accesses) {
  const few = accesses < 5000 ? 3 : accesses < 50000 ? 2 : 1;
  return Math.max(Math.min(Math.round(perPage), 4), few * Math.max(1, Math.round(size.scale)));
}

function shade(pixels, size, view, low, high, word) {
  const perPage = size.height / (view.high - view.low);
  const top = Math.max(Math.floor((view.high - high) * perPage), 0);
  const behind = Math.min(Math.ceil((view.high - low) * perPage), size.height);
  if (behind > top) pixels.fill(word, top * size.width, behind * size.width);
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
