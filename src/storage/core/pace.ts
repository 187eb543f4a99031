/** How long a reader of a file has before the pace is looked at. */
const graceMs = 60_000;
/** Bytes a second, on average after that. A slow mobile connection reaches it; a stalled one does not. */
const slowestPace = 16 * 1024;

/** Whether a reader takes so little that it only holds its place. */
export const isTooSlow = ({ elapsedMs, bytes }: { elapsedMs: number; bytes: number }): boolean =>
  bytes < ((elapsedMs - graceMs) / 1000) * slowestPace;
