/* The two workers, asked by messages. The newest question of a kind replaces one that waits. */

/** Return a worker that is being loaded with the start. */
export class Client {
  constructor(source, data, onPoint, onError) {
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.busy = new Map();
    this.next = new Map();
    this.number = 0;
    this.worker.onmessage = ({ data: { id, answer, error, point } }) => {
      if (point) { onPoint(point); return; }
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(error)); else resolve(answer);
    };
    this.worker.onerror = (event) => onError(new Error(event.message || 'the worker fails'));
    this.loaded = this.ask('load', data);
  }

  ask(what, asked) {
    this.number += 1;
    const id = this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, what, ...asked });
    });
  }

  /** Ask once the question of this kind before it is answered; then(answer) hears the newest. */
  async latest(kind, what, asked, then) {
    if (this.busy.get(kind)) {
      this.next.set(kind, [what, asked, then]);
      return;
    }
    this.busy.set(kind, true);
    try {
      const answer = await this.ask(what, asked);
      then(answer, null);
    } catch (error) {
      then(null, error);
    }
    this.busy.set(kind, false);
    const next = this.next.get(kind);
    this.next.delete(kind);
    if (next) this.latest(kind, ...next);
  }
}
