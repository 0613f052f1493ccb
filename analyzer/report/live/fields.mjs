/* The form of one setting: what it shows is recorded unless the reader changes it. */
import { NUMBERS, asFields, deviceOf, isPossible } from './setting.mjs';

const STEPS = 20000; // of the slider: so many that each of 1,023 windows has one

export class Fields {
  constructor(side, meta, onChange) {
    [this.side, this.meta, this.onChange] = [side, meta, onChange];
    this.setting = {};
    this.pageKib = meta.page_size / 1024;
    this.recorded = meta.run ? asFields(deviceOf({}, meta.run.device)) : {};
    if (meta.run) this.recorded.cpus = meta.run.cpus;
    const at = (name) => document.getElementById(`live-${side}-${name}`);
    this.inputs = Object.fromEntries(
      ['window', 'kib', 'kernel', 'even', 'reset', ...NUMBERS].map((name) => [name, at(name)]),
    );
    this.inputs.window.max = STEPS;
    this.listen();
  }

  listen() {
    const { window: slider, kib, kernel, even, reset } = this.inputs;
    slider.addEventListener('input', () => this.change('window', this.windowAt(slider.value)));
    slider.addEventListener('keydown', (event) => this.key(event));
    kib.addEventListener('input', () => {
      const window = Math.floor(Number(kib.value) / this.pageKib);
      if (kib.value !== '' && window >= 0 && window <= this.meta.windows.most) {
        this.change('window', window);
      }
    });
    kib.addEventListener('change', () => this.show());
    kernel.addEventListener('change', () => this.change('kernel', kernel.value || undefined));
    reset.addEventListener('click', () => this.set({ window: this.setting.window }, true));
    if (!this.meta.run) return;
    even.addEventListener('change', () => this.change('even', this.evenOf(even.value)));
    for (const name of NUMBERS) {
      const input = this.inputs[name];
      input.addEventListener('input', () => this.number(name, input));
      input.addEventListener('change', () => this.show());
    }
  }

  evenOf(value) {
    const isEven = value === 'even';
    return isEven === this.recorded.even ? undefined : isEven;
  }

  number(name, input) {
    const number = Number(input.value);
    const same = input.value === '' || input.value === shown(this.recorded[name]);
    if (same) this.change(name, undefined);
    else if (isPossible(name, number)) this.change(name, number);
  }

  /** Arrows go to the next window, page keys to the next power of two. */
  key(event) {
    const { most } = this.meta.windows;
    const { window } = this.setting;
    const up = 2 ** Math.floor(Math.log2(window || 0.5) + 1);
    const down = window > 1 ? 2 ** Math.ceil(Math.log2(window) - 1) : 0;
    const next = {
      ArrowRight: window + 1,
      ArrowUp: window + 1,
      ArrowLeft: window - 1,
      ArrowDown: window - 1,
      PageUp: window ? up : 1,
      PageDown: down,
      Home: 0,
      End: most,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.change('window', Math.min(Math.max(next, 0), most));
    this.show();
  }

  windowAt(step) {
    const { most } = this.meta.windows;
    return Math.round((most + 1) ** (step / STEPS)) - 1;
  }

  stepOf(window) {
    return Math.round((STEPS * Math.log(window + 1)) / Math.log(this.meta.windows.most + 1));
  }

  change(name, value) {
    if (this.setting[name] === value) return;
    this.setting = { ...this.setting, [name]: value };
    if (name === 'window') this.showWindow(document.activeElement);
    this.onChange(this.side);
  }

  set(setting, isHeard) {
    this.setting = setting;
    this.show();
    if (isHeard) this.onChange(this.side);
  }

  showWindow(active) {
    const { window: slider, kib } = this.inputs;
    const text = String(this.setting.window * this.pageKib);
    if (slider !== active) slider.value = this.stepOf(this.setting.window);
    if (kib !== active) kib.value = text;
    slider.setAttribute('aria-valuetext', `${text} KiB, ${this.setting.window} pages`);
  }

  show() {
    this.showWindow(null);
    this.inputs.kernel.value = this.setting.kernel || '';
    if (!this.meta.run) return;
    const now = { ...this.recorded, ...this.setting };
    for (const name of NUMBERS) {
      this.inputs[name].value = shown(now[name]);
      this.inputs[name].classList.toggle('changed', this.setting[name] !== undefined);
    }
    this.inputs.even.value = now.even ? 'even' : 'slices';
    this.inputs.slice.disabled = Boolean(now.even);
  }
}

/** Return a number as its field shows it. */
function shown(number) {
  return String(Number(number.toPrecision(6)));
}
