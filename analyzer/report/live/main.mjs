/* Puts the parts together: settings to the workers, their answers to the page. */
import { Client } from './client.mjs';
import { Curve } from './curve.mjs';
import { Fields } from './fields.mjs';
import { FilesTable } from './files.mjs';
import { MapView, ZOOM } from './map_view.mjs';
import { Results, knownAnswer, knownCurve } from './results.mjs';
import { asText, fromText } from './setting.mjs';

const PREFIX = '#set=';

class Page {
  constructor(workerSource) {
    const part = (name) => document.getElementById(`live-${name}`);
    this.part = part;
    this.meta = JSON.parse(part('meta').textContent);
    const { meta } = this;
    const fail = (error) => this.fail(error);
    const load = { wasm: part('wasm').textContent, meta, planes: part('planes').textContent };
    const worker = () => new Client(workerSource, load, (point) => this.point(point), fail);
    [this.numbers, this.mapper] = [worker(), worker()];
    this.fields = { a: new Fields('a', meta, (side) => this.changed(side)) };
    this.fields.b = new Fields('b', meta, (side) => this.changed(side));
    this.results = new Results(meta);
    this.curves = {}; // by side: what differs but the window, and how many there were
    this.curve = new Curve(meta, part('curve'));
    const mapParts = ['canvas', 'labels', 'from', 'to', 'hint'];
    const parts = Object.fromEntries(mapParts.map((name) => [name, part(`map-${name}`)]));
    this.map = new MapView(meta, this.mapper, parts, fail);
    const table = { body: part('files'), search: part('search'), more: part('more') };
    this.files = new FilesTable(meta, table, (file) => this.map.showFile(file));
    this.listen();
  }

  listen() {
    const zoomed = {
      in: () => this.map.zoom(ZOOM),
      out: () => this.map.zoom(1 / ZOOM),
      all: () => this.map.showFile(-1),
    };
    for (const [name, act] of Object.entries(zoomed)) {
      this.part(`map-${name}`).addEventListener('click', act);
    }
    for (const side of ['a', 'b']) {
      this.part(`map-of-${side}`).addEventListener('change', () => this.askMap());
    }
    window.addEventListener('hashchange', () => this.read());
  }

  start() {
    this.part('section').hidden = false;
    this.read();
    for (const client of [this.numbers, this.mapper]) {
      client.loaded.catch((error) => this.fail(error));
    }
  }

  /** Take the settings of the address bar, else the window now and the proposed one. */
  read() {
    const { now, proposed, most } = this.meta.windows;
    const { hash } = location;
    const texts = hash.startsWith(PREFIX) ? hash.slice(PREFIX.length).split('~') : [];
    const kernels = this.meta.options.map(([name]) => name);
    ['a', 'b'].forEach((side, row) => {
      const usual = { window: row ? proposed : now };
      const setting = { ...usual, ...fromText(texts[row] || '', most, kernels) };
      this.fields[side].set(setting, false);
      const known = knownAnswer(this.meta.known, setting);
      if (known) this.results.show(side, known);
      this.ask(side);
      this.askCurve(side);
    });
  }

  changed(side) {
    const texts = ['a', 'b'].map((one) => asText(this.fields[one].setting));
    history.replaceState(null, '', `${PREFIX}${texts.join('~')}`);
    this.ask(side);
  }

  ask(side) {
    const { setting } = this.fields[side];
    const began = performance.now();
    this.curve.windows[side] = setting.window;
    this.numbers.latest(side, 'numbers', { setting }, (answer, error) => {
      if (error) { this.fail(error); return; }
      this.results.show(side, answer);
      performance.measure('foreread: numbers shown', { start: began, end: performance.now() });
      this.told(side, setting, answer);
    });
    if (this.part(`map-of-${side}`).checked) this.askMap();
  }

  /** After the numbers: a curve of the same disk and kernel, and what is read aloud. */
  told(side, setting, answer) {
    const { window, ...others } = setting;
    const key = JSON.stringify(others);
    if (this.curves[side]?.key !== key) this.askCurve(side, key);
    this.curve.add(side, window, answer.total === undefined ? answer.requests : answer.total);
    this.curve.draw();
    if (this.fields[side].setting !== setting) return; // it has changed
    this.say(`Exact figures of setting ${side.toUpperCase()} are shown.`);
  }

  askCurve(side, key) {
    const { window, ...others } = this.fields[side].setting;
    const number = (this.curves[side]?.number || 0) + 1;
    this.curves[side] = { key: key || JSON.stringify(others), number };
    this.curve.clear(side);
    knownCurve(this.meta, this.fields[side].setting).forEach((point) => this.curve.add(side, ...point));
    this.curve.draw();
    this.sayBest(side);
    const { setting } = this.fields[side];
    const asked = { setting, side, number, windows: this.curve.missing(side) };
    this.numbers.ask('curve', asked).catch((error) => this.fail(error));
  }

  point({ side, number, window, value }) {
    if (this.curves[side].number !== number) return; // of a setting that has changed
    this.curve.add(side, window, value);
    this.curve.draw();
    this.sayBest(side);
  }

  sayBest(side) {
    const best = this.curve.best(side);
    const kib = (best * this.meta.page_size) / 1024;
    const text = `Fewest seconds on the curve of ${side.toUpperCase()}: ${kib} KiB.`;
    this.part(`${side}-best`).textContent = best === null ? '' : text;
  }

  askMap() {
    const side = this.part('map-of-b').checked ? 'b' : 'a';
    const { setting } = this.fields[side];
    const began = performance.now();
    this.mapper.latest('map', 'map', { setting }, (answer, error) => {
      if (error) { this.fail(error); return; }
      this.map.show(answer);
      this.files.show(answer.files);
      performance.measure('foreread: map changed', { start: began, end: performance.now() });
    });
  }

  say(text) { this.part('status').textContent = text; }

  fail(error) {
    this.say(`These figures cannot be computed: ${error.message}. Those above are of the report.`);
  }
}

/** Begin, where the browser has what the page needs; the report stands without it. */
export function begin(workerSource) {
  const needed = ['WebAssembly', 'Worker', 'DecompressionStream', 'ResizeObserver'];
  if (!needed.every((name) => name in window)) return null;
  const page = new Page(workerSource);
  page.start();
  return page;
}
