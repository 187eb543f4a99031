/** Milliseconds since the epoch; the end is not included. */
export interface Interval {
  startsAt: number;
  endsAt: number;
}

/**
 * A set of times as sorted intervals that neither overlap nor touch. Each operation takes time linear in its operands, and
 * making one from n intervals n log n.
 */
export class Spans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Where the last question was answered: questions mostly come in order. */
  #last = 0;

  private constructor(starts: number[], ends: number[]) {
    this.starts = starts;
    this.ends = ends;
  }

  static readonly none = new Spans([], []);

  /** The union of the intervals, without empty ones. */
  static of(intervals: Iterable<Interval>): Spans {
    const sorted = [...intervals].filter(({ startsAt, endsAt }) => startsAt < endsAt);
    if (!sorted.every((one, index) => index === 0 || sorted[index - 1]!.startsAt <= one.startsAt)) {
      sorted.sort((a, b) => a.startsAt - b.startsAt);
    }
    const starts: number[] = [];
    const ends: number[] = [];
    for (const { startsAt, endsAt } of sorted) {
      const last = ends.length - 1;
      if (last >= 0 && startsAt <= ends[last]!) ends[last] = Math.max(ends[last]!, endsAt);
      else {
        starts.push(startsAt);
        ends.push(endsAt);
      }
    }
    return new Spans(starts, ends);
  }

  get length(): number {
    return this.starts.length;
  }

  *[Symbol.iterator](): Generator<Interval> {
    for (let index = 0; index < this.starts.length; index++) {
      yield { startsAt: this.starts[index]!, endsAt: this.ends[index]! };
    }
  }

  union(other: Spans): Spans {
    if (other.length === 0) return this;
    return this.length === 0 ? other : Spans.of([...this, ...other]);
  }

  intersect(other: Spans): Spans {
    const starts: number[] = [];
    const ends: number[] = [];
    for (let a = 0, b = 0; a < this.length && b < other.length; ) {
      const startsAt = Math.max(this.starts[a]!, other.starts[b]!);
      const endsAt = Math.min(this.ends[a]!, other.ends[b]!);
      if (startsAt < endsAt) {
        starts.push(startsAt);
        ends.push(endsAt);
      }
      if (this.ends[a]! <= other.ends[b]!) a++;
      else b++;
    }
    return new Spans(starts, ends);
  }

  subtract(other: Spans): Spans {
    if (other.length === 0 || this.length === 0) return this;
    return this.intersect(other.#outside());
  }

  /** All other times. */
  #outside(): Spans {
    const starts = [-Infinity, ...this.ends];
    const ends = [...this.starts, Infinity];
    return new Spans(starts, ends);
  }

  /** The index of the first interval that ends after this moment; the number of intervals if none does. */
  endingAfter(at: number): number {
    const { ends } = this;
    let from = this.#last;
    if (from > 0 && ends[from - 1]! > at) from = 0;
    // A few steps ahead, then halving: a question far away costs no walk over everything between.
    for (let step = 0; step < 8; step++, from++) {
      if (from >= ends.length || ends[from]! > at) {
        this.#last = from;
        return from;
      }
    }
    let to = ends.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (ends[middle]! > at) to = middle;
      else from = middle + 1;
    }
    this.#last = from;
    return from;
  }

  /** Whether all of start..end lies in it. */
  contains(startsAt: number, endsAt: number): boolean {
    const index = this.endingAfter(startsAt);
    return index < this.length && this.starts[index]! <= startsAt && this.ends[index]! >= endsAt;
  }

  /** Until when start..end is overlapped without a break; undefined when nothing overlaps it. */
  overlapsUntil(startsAt: number, endsAt: number): number | undefined {
    const index = this.endingAfter(startsAt);
    return index < this.length && this.starts[index]! < endsAt ? this.ends[index]! : undefined;
  }

  /** The first moment of start..end that is not in it; undefined when all are. */
  firstGap(startsAt: number, endsAt: number): number | undefined {
    const index = this.endingAfter(startsAt);
    if (index >= this.length || this.starts[index]! > startsAt) return startsAt;
    const until = this.ends[index]!;
    return until < endsAt ? until : undefined;
  }
}
