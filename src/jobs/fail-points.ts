import { defineFailPoints } from '../platform/parts/fail-points.ts';

const points = ['committed', 'started', 'recorded'] as const;

/** Kills the process where the fail point of this name is armed. */
export type JobFailPoint = (point: (typeof points)[number]) => void;

/** The fail points that every job has, such as `voice.committed`. */
export function jobFailPoints(job: string): { failPoint: JobFailPoint; names: readonly string[] } {
  const defined = defineFailPoints(...points.map((point) => `${job}.${point}`));
  return { failPoint: (point) => defined(`${job}.${point}`), names: defined.names };
}
