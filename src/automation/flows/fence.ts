/**
 * The fence of a run, a number that only grows, says which execution owns the run and how often that has written: an
 * execution takes the next multiple of this number, and each of its writes adds one. An execution can write only while
 * the fence is the one that it knows, and recognizes a write of its own whose answer was lost.
 */
const writesOfExecution = 1024;

/** An expression of an UPDATE: the fence of the next execution. */
export const nextExecutionSql = `(fence / ${writesOfExecution} + 1) * ${writesOfExecution}`;

/** Whether only a write by the execution that knew the fence `before` can have led to the fence `now`. */
export const isNextWrite = (before: number, now: number): boolean =>
  now === before + 1 && now % writesOfExecution !== 0;
