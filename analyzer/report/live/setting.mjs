/*
 * A setting: the window, and what differs from the recorded start. Members that are absent are as
 * recorded, so that they keep the recorded numbers to the last bit.
 */
const NS_PER_KIB_AT_1_MB = 1.024e6; // 1 MB = 1e6 bytes
export const [FIXED, PACED, , STATEFUL] = [0, 1, 2, 3]; // enum lx_device_kind
export const NUMBERS = ['latency', 'transfer', 'requests', 'limit', 'slice', 'cpus'];
const LARGEST = 1e12;

/** Return the disk's numbers as the core takes them: kind, then those of emulator/devices. */
export function deviceOf(setting, recorded) {
  const device = recorded.map((n) => (n === null ? Infinity : n));
  const has = (name) => setting[name] !== undefined;
  if (!['latency', 'transfer', 'requests', 'limit', 'even', 'slice'].some(has)) return device;
  const now = asFields(device);
  const value = (name) => (has(name) ? setting[name] : now[name]);
  const base = baseOf(setting, device);
  const isLimited = value('requests') || value('limit');
  if (!isLimited) {
    if (device[0] !== STATEFUL) return [FIXED, ...base];
    return [STATEFUL, base[0], base[1], ...device.slice(3)];
  }
  const requests = has('requests') || device[0] !== PACED ? value('requests') || Infinity : device[1];
  const bytes = has('limit') || device[0] !== PACED ? value('limit') * 1e6 || Infinity : device[2];
  const isEven = has('even') ? setting.even : now.even;
  const slice = isEven ? 0 : (has('slice') ? setting.slice : now.slice) * 1e6;
  const tick = Math.min(device[0] === PACED && device[4] ? device[4] : 4e6, slice || 4e6);
  return [PACED, requests, bytes, slice, tick, ...base];
}

/** Return latency, time a KiB and handover of the disk below a limit. */
function baseOf(setting, device) {
  const was = costsOf(device);
  const latency = setting.latency === undefined ? was[0] : setting.latency * 1000;
  let perKib = was[1];
  if (setting.transfer !== undefined) {
    perKib = setting.transfer ? NS_PER_KIB_AT_1_MB / setting.transfer : 0;
  }
  return [latency, perKib, was[2]];
}

/** Return (latency ns, ns a KiB, handover ns) of any kind of disk. */
function costsOf(device) {
  if (device[0] === PACED) return device.slice(5, 8);
  if (device[0] === FIXED) return device.slice(1, 4);
  if (device[0] === STATEFUL) return [device[1], device[2], device[10]];
  const n = device[1]; // measured: sizes, then their latencies
  const [small, large] = [device[3], device[2 + n]];
  const [quick, slow] = [device[3 + n], device[2 + 2 * n]];
  const perKib = large > small ? Math.max((slow - quick) / (large - small), 0) : 0;
  return [Math.max(quick - perKib * small, 0), perKib, 0];
}

/** Return a disk's numbers as the form shows them; 0 is no limit. */
export function asFields(device) {
  const [latency, perKib] = costsOf(device);
  const paced = device[0] === PACED;
  const finite = (n) => (paced && Number.isFinite(n) ? n : 0);
  return {
    latency: latency / 1000,
    transfer: perKib ? NS_PER_KIB_AT_1_MB / perKib : 0,
    requests: finite(device[1]),
    limit: finite(device[2]) / 1e6,
    even: paced && device[3] === 0,
    slice: paced && device[3] ? device[3] / 1e6 : 100,
  };
}

/** Return a setting as text for the address bar. */
export function asText(setting) {
  const words = [`window.${setting.window}`];
  if (setting.kernel !== undefined) words.push(`kernel.${setting.kernel}`);
  for (const name of NUMBERS) {
    if (setting[name] !== undefined) words.push(`${name}.${setting[name]}`);
  }
  if (setting.even !== undefined) words.push(`even.${setting.even ? 1 : 0}`);
  return words.join('_');
}

/** Return the setting in a text; what is not known or out of range is left out. */
export function fromText(text, most, kernels) {
  const found = {};
  for (const word of text.split('_')) {
    const [name, value] = [word.slice(0, word.indexOf('.')), word.slice(word.indexOf('.') + 1)];
    const number = Number(value);
    if (name === 'kernel' && kernels.includes(value)) found.kernel = value;
    if (!(value !== '' && number >= 0 && number <= LARGEST)) continue;
    if (name === 'window' && Number.isInteger(number) && number <= most) found.window = number;
    if (name === 'even') found.even = number === 1;
    if (NUMBERS.includes(name) && isPossible(name, number)) found[name] = number;
  }
  return found;
}

/** Whether a number can be the value of a field. */
export function isPossible(name, number) {
  if (name === 'cpus') return Number.isInteger(number) && number >= 1 && number <= 1024;
  if (name === 'slice') return number >= 1 && number <= 10000;
  if (name === 'latency') return number >= 0 && number <= 1e7;
  return number >= 0 && number <= 1e7;
}
