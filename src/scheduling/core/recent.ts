/** Remembers the results of a pure function for the keys used last, at most `room` of them. */
export class Recent<Key, Value> {
  readonly #values = new Map<Key, Value>();
  readonly #room: number;

  constructor(room: number) {
    this.#room = room;
  }

  peek(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  get(key: Key, compute: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) {
      // A map keeps the order of insertion, so the least recently used one comes first. Moving costs only when it is full.
      if (this.#values.size >= this.#room) {
        this.#values.delete(key);
        this.#values.set(key, known);
      }
      return known;
    }
    const value = compute();
    if (this.#values.size >= this.#room) this.#values.delete(this.#values.keys().next().value!);
    this.#values.set(key, value);
    return value;
  }
}
