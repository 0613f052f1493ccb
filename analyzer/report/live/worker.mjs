/*
 * The two workers: one finds numbers, the other maps. Each has its own core, so that a map does
 * not wait for the curve of another setting.
 */
import { loadCore } from './core.mjs';
import { Pages } from './pages.mjs';
import { describe, drawn, markAt } from './raster.mjs';
import { deviceOf } from './setting.mjs';

const state = { loading: null, core: null, pages: null, map: null, marks: null, size: null, curves: {} };

function kernelOf(setting) {
  const { options, recorded_kernel: recorded } = state.core.meta;
  const option = options.find(([name]) => name === setting.kernel);
  return option ? option[1] : recorded.row;
}

function secondsOf(setting) {
  const { run } = state.core.meta;
  if (!run) return null;
  const cpus = setting.cpus === undefined ? run.cpus : setting.cpus;
  return state.core.seconds(setting.window, kernelOf(setting), cpus, deviceOf(setting, run.device));
}

const answers = {
  async load({ wasm, meta, planes }) {
    state.loading = loadCore(bytesOf(wasm), meta, bytesOf(planes));
    state.core = await state.loading;
    return {};
  },

  numbers({ setting }) {
    const began = performance.now();
    const counts = state.core.counts(setting.window, kernelOf(setting));
    const times = secondsOf(setting);
    return { ...counts, ...times, took: performance.now() - began };
  },

  /** The seconds of windows, one message each; the side's next curve ends this. */
  async curve({ setting, side, number, windows }) {
    state.curves[side] = number;
    for (const window of windows) {
      await new Promise((resolve) => { setTimeout(resolve, 0); });
      if (state.curves[side] !== number) return {};
      const times = secondsOf({ ...setting, window });
      const figures = times || state.core.counts(window, kernelOf(setting));
      postMessage({ point: { side, number, window, value: times ? times.total : figures.requests } });
    }
    return {};
  },

  map({ setting }) {
    if (!state.pages) state.pages = new Pages(state.core);
    state.map = state.pages.under(setting.window, kernelOf(setting));
    const { top, end, order } = state.pages;
    const bands = order.map((file) => [file, state.pages.low[file], state.pages.high[file]]);
    return { top, end, bands, files: state.pages.filesOf(state.map) };
  },

  draw({ view, size, colours, chosen }) {
    const began = performance.now();
    const { pixels, marks } = drawn(state.pages, state.map, view, size, colours, chosen);
    [state.marks, state.size] = [marks, size];
    return { pixels, view, size, took: performance.now() - began };
  },

  point({ x, y }) {
    const mark = state.marks ? markAt(state.marks, state.size, x, y) : -1;
    return { mark: mark < 0 ? null : describe(state.pages, state.map, mark) };
  },
};

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

onmessage = async ({ data: { id, what, ...asked } }) => {
  try {
    if (what !== 'load') await state.loading;
    const answer = await answers[what](asked);
    const moved = answer.pixels ? [answer.pixels.buffer] : [];
    postMessage({ id, answer }, moved);
  } catch (error) {
    postMessage({ id, error: String(error.message || error) });
  }
};
