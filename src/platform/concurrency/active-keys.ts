interface Activity {
  underWay: number;
  /** When work of the key came or ended last, or was seen to be under way. */
  at: number;
}

/** The keys that have work now, or had some shortly before. Each call costs the same, however many keys there are. */
export class ActiveKeys<Key extends string = string> {
  readonly #rememberMs: number;
  readonly #now: () => number;
  /** In the order of their times, so that only the first ones can be too old. */
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
    this.#touch(key, this.#activities.get(key) ?? { underWay: 0, at: 0 }, 1);
  }

  end(key: Key): void {
    this.#touch(key, this.#activities.get(key)!, -1);
  }

  /** The active keys. The map changes with later calls. */
  current(): Pick<ReadonlyMap<Key, unknown>, 'has' | 'size'> {
    const since = this.#now() - this.#rememberMs;
    for (const [key, activity] of this.#activities) {
      if (activity.at >= since) break;
      if (activity.underWay === 0) this.#activities.delete(key);
      else this.#touch(key, activity, 0);
    }
    return this.#activities;
  }

  #touch(key: Key, activity: Activity, more: number): void {
    activity.underWay += more;
    activity.at = this.#now();
    this.#activities.delete(key);
    this.#activities.set(key, activity);
  }
}
