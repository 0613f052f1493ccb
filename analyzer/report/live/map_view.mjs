/* The page map: what the reader sees of it, and moves through it. */
import { count, seconds } from './words.mjs';

const KINDS = ['read when it was needed', 'read ahead', 'unused'];
const DARK = '(prefers-color-scheme: dark)';
const COLOURS = ['--needed', '--ahead', '--unused', '--shade'];
export const ZOOM = 1.6;
const [STEP, CURSOR_STEP] = [0.2, 8];
const LABEL_HEIGHT = 15;

export class MapView {
  constructor(meta, client, parts, onError) {
    [this.meta, this.client, this.onError] = [meta, client, onError];
    Object.assign(this, parts); // canvas, labels, from, to, hint
    this.view = null;
    this.chosen = -1;
    this.cursor = null;
    this.listen();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('keydown', (event) => this.key(event));
    canvas.addEventListener('dblclick', (event) => this.zoom(ZOOM, this.place(event)));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return; // the page scrolls otherwise
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, this.place(event));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      this.dragged = this.place(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointerup', () => { this.dragged = null; });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerleave', () => { this.hint.hidden = true; });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia(DARK).addEventListener('change', () => this.draw());
  }

  /** Show a map; the part that is in sight stays, unless the map is the first. */
  show({ top, end, bands }) {
    [this.all, this.bands] = [{ from: 0, to: end, low: 0, high: top }, bands];
    if (!this.view) this.view = { ...this.all };
    this.draw();
  }

  /** Zoom to one file, or with -1 to all. */
  showFile(file) {
    this.chosen = file;
    this.view = { ...this.all };
    const band = this.bands.find(([one]) => one === file);
    if (band) {
      const room = Math.max((band[2] - band[1]) * 0.1, 4);
      [this.view.low, this.view.high] = [band[1] - room, band[2] + room];
    }
    this.draw();
  }

  draw() {
    if (!this.view) return;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * scale);
    const height = Math.round(this.canvas.clientHeight * scale);
    if (!width || !height) return;
    const style = getComputedStyle(this.canvas);
    const colours = COLOURS.map((name) => style.getPropertyValue(name).trim());
    const isDark = matchMedia(DARK).matches;
    const asked = { view: this.view, size: { width, height, scale }, colours, chosen: this.chosen };
    this.client.latest('draw', 'draw', asked, (answer, error) => {
      if (error) { this.onError(error); return; }
      this.put(answer);
      const { classList } = this.canvas.closest('.of-answers');
      classList.add('drawn');
      classList.toggle('dark', isDark);
    });
    this.label();
  }

  put({ pixels, size: { width, height }, took }) {
    const { canvas } = this;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const bytes = new Uint8ClampedArray(pixels.buffer);
    canvas.getContext('2d').putImageData(new ImageData(bytes, width, height), 0, 0);
    performance.measure('foreread: map drawn', { start: performance.now() - took, duration: took });
  }

  /** Name the files whose bands are high enough, and say which times are in sight. */
  label() {
    const { view, canvas } = this;
    const perPage = canvas.clientHeight / (view.high - view.low);
    let free = Infinity;
    const made = [];
    const tall = this.bands.filter(([, low, high]) => (
      (high - low) * perPage >= LABEL_HEIGHT && high > view.low && low < view.high
    ));
    for (const [file, low, high] of tall) {
      const y = (view.high - (Math.max(low, view.low) + Math.min(high, view.high)) / 2) * perPage;
      if (free - y < LABEL_HEIGHT) continue;
      free = y;
      const label = document.createElement('span');
      label.style.top = `${y - LABEL_HEIGHT / 2}px`;
      label.textContent = this.meta.paths[file].split('/').pop() || this.meta.paths[file];
      made.push(label);
    }
    this.labels.replaceChildren(...made);
    this.from.textContent = seconds(Math.max(view.from, 0));
    this.to.textContent = seconds(view.to);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  }

  zoom(factor, place = { x: 0.5, y: 0.5 }) {
    const { view, all } = this;
    const width = Math.min((view.to - view.from) / factor, all.to - all.from);
    const height = Math.min((view.high - view.low) / factor, all.high - all.low);
    const from = view.from + place.x * (view.to - view.from - width);
    const low = view.low + (1 - place.y) * (view.high - view.low - height);
    this.view = { from, to: from + width, low, high: low + height };
    this.pan(0, 0);
  }

  /** Move by parts of what is in sight, and stay on the map. */
  pan(right, up) {
    const { view, all } = this;
    const [width, height] = [view.to - view.from, view.high - view.low];
    const within = (value, least, most) => Math.max(Math.min(value, most), least);
    const from = within(view.from + right * width, all.from, Math.max(all.to - width, all.from));
    const low = within(view.low + up * height, all.low, Math.max(all.high - height, all.low));
    this.view = { from, to: from + width, low, high: low + height };
    this.draw();
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const move = moves[event.key];
    if (move && event.shiftKey) this.moveCursor(...move);
    else if (move) this.pan(STEP * move[0], STEP * move[1]);
    else if (event.key === '+' || event.key === '=') this.zoom(ZOOM);
    else if (event.key === '-') this.zoom(1 / ZOOM);
    else if (event.key === '0') this.showFile(-1);
    else return;
    event.preventDefault();
  }

  /** Move the place that is looked at, for readers without a pointer. */
  moveCursor(right, up) {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const at = this.cursor || { x: width / 2, y: height / 2 };
    this.cursor = {
      x: Math.max(Math.min(at.x + right * CURSOR_STEP, width), 0),
      y: Math.max(Math.min(at.y - up * CURSOR_STEP, height), 0),
    };
    this.look(this.cursor.x, this.cursor.y);
  }

  move(event) {
    const place = this.place(event);
    if (this.dragged) {
      this.pan(this.dragged.x - place.x, place.y - this.dragged.y);
      this.dragged = place;
      return;
    }
    this.look(place.x * this.canvas.clientWidth, place.y * this.canvas.clientHeight);
  }

  look(x, y) {
    const scale = this.canvas.width / this.canvas.clientWidth;
    const asked = { x: Math.round(x * scale), y: Math.round(y * scale) };
    this.client.latest('point', 'point', asked, (answer, error) => {
      if (error) this.onError(error); else this.tell(answer.mark, x, y);
    });
  }

  tell(mark, x, y) {
    this.hint.hidden = !mark;
    if (!mark) return;
    const parts = [`${this.meta.paths[mark.file]}, page ${count(mark.page)}: ${KINDS[mark.kind]}`];
    if (mark.read !== null) parts.push(`read at ${seconds(mark.read, 3)}: ${this.meta.rules[mark.cause]}`);
    if (mark.accessed !== null) parts.push(`accessed at ${seconds(mark.accessed, 3)}`);
    this.hint.textContent = parts.join('; ');
    const left = Math.min(x + 12, this.canvas.clientWidth - this.hint.offsetWidth - 4);
    this.hint.style.left = `${Math.max(left, 0)}px`;
    this.hint.style.top = `${Math.min(y + 14, this.canvas.clientHeight - this.hint.offsetHeight)}px`;
  }
}
