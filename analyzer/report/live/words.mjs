/* Numbers as the rest of the report writes them (analyzer/report/wording.py). */

export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

export function seconds(number, digits) {
  if (number === null || number === undefined) return '–';
  const size = Math.abs(number);
  const usual = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return `${number.toFixed(digits === undefined ? usual : digits)} s`.replace('-', '−');
}

export function size(bytes) {
  let [value, unit] = [bytes, 0];
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  while (Math.abs(value) >= 1024 && unit < 4) [value, unit] = [value / 1024, unit + 1];
  const size_ = Math.abs(value);
  const shown = size_ >= 100 || !unit ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return `${shown} ${units[unit]}`.replace('-', '−');
}

/** Return a change with its sign, and in per cent of what it was; "same" if it rounds to nothing. */
export function change(before, after, inWords) {
  if (before === null || before === undefined || after === null || after === undefined) return '–';
  const more = after - before;
  if (inWords(Math.abs(more)) === inWords(0)) return 'same';
  const text = `${more > 0 ? '+' : '−'}${inWords(Math.abs(more))}`;
  if (!before) return text;
  const percent = (100 * more) / before;
  const digits = Math.abs(percent) >= 9.95 ? 0 : 1;
  return `${text} (${more > 0 ? '+' : '−'}${Math.abs(percent).toFixed(digits)} %)`;
}
