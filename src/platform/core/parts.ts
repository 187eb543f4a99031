/** Work that yields after each part of less than a millisecond, so that others can have the thread in between. */
export type Parts<Result> = Generator<undefined, Result>;

/** Does all parts in one go, for work that is known to be small. @throws what the work throws */
export function wholeOf<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
  }
}
