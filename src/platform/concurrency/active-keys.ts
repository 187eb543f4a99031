interface Activity {
  underWay: number;
  /** When work of the key came or ended last. */
  at: number;
}

/** The keys that have work now, or had some shortly before. */
export class ActiveKeys<Key extends string = string> {
  readonly #rememberMs: number;
  readonly #now: () => number;
  readonly #activities = new Map<Key, Activity>();

  /**
   * @param rememberMs how long a key counts after its last work: a key that returns soon keeps its share
   * @param now ms; gives the same or more each time
   */
  constructor(rememberMs: number, now: () => number = () => performance.now()) {
    this.#rememberMs = rememberMs;
    this.#now = now;
  }

  begin(key: Key): void {
    const activity = this.#activities.get(key) ?? { underWay: 0, at: 0 };
    activity.underWay++;
    activity.at = this.#now();
    this.#activities.set(key, activity);
  }

  end(key: Key): void {
    const activity = this.#activities.get(key)!;
    activity.underWay--;
    activity.at = this.#now();
  }

  /** The active keys. The map changes with later calls. */
  current(): Pick<ReadonlyMap<Key, unknown>, 'has' | 'size'> {
    const since = this.#now() - this.#rememberMs;
    for (const [key, { underWay, at }] of this.#activities) {
      if (underWay === 0 && at < since) this.#activities.delete(key);
    }
    return this.#activities;
  }
}
