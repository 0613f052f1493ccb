/* The table of the files on the map, and the search in it. */
import { count } from './words.mjs';

const FEW = 15; // rows, until the reader asks for more

export class FilesTable {
  constructor(meta, parts, onFile) {
    [this.meta, this.onFile] = [meta, onFile];
    Object.assign(this, parts); // body, search, more
    this.rows = [];
    this.most = FEW;
    this.search.addEventListener('input', () => this.draw());
    this.more.addEventListener('click', () => { this.most *= 4; this.draw(); });
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const wanted = this.search.value.toLowerCase();
    const found = this.rows.filter(([file]) => this.meta.paths[file].toLowerCase().includes(wanted));
    this.body.replaceChildren(...found.slice(0, this.most).map((row) => this.row(row)));
    const rest = found.length - this.most;
    this.more.hidden = rest <= 0;
    this.more.textContent = `Show more of ${count(found.length)} files`;
  }

  row([file, ...numbers]) {
    const row = document.createElement('tr');
    const name = document.createElement('td');
    name.className = 'left path';
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...breakable(this.meta.paths[file]));
    button.addEventListener('click', () => this.onFile(file));
    name.append(button);
    const cells = numbers.map((number) => {
      const cell = document.createElement('td');
      cell.className = 'right';
      cell.textContent = count(number);
      return cell;
    });
    row.append(name, ...cells);
    return row;
  }
}

/** Return a path as text that may be broken behind each slash. */
function breakable(path) {
  const [first, ...others] = path.split('/');
  return [first, ...others.flatMap((name) => ['/', document.createElement('wbr'), name])];
}
