import type { ResultShape } from '../core/flow-walk.ts';
import type { StepCounts } from '../core/run-status.ts';
import { dottedPath } from '../core/step-path.ts';

/** When a step began and ended, in milliseconds since 1970. */
export interface StepTimes {
  startedAt: number;
  finishedAt: number | null;
}

/** How the branches or items of a container ended. */
export interface Summary {
  /** The container's output. */
  output: Record<string, unknown>;
  counts: StepCounts;
}

/**
 * Makes the output of a container.
 * @param outputs of the steps that give the results, by their dotted paths
 * @param timesOf the times of a step by its dotted path
 */
export function summarize(
  type: 'parallel' | 'map',
  shapes: readonly ResultShape[],
  outputs: Readonly<Record<string, unknown>>,
  timesOf: (path: string) => StepTimes | undefined,
): Summary {
  const results = shapes.map(({ key, status, output, first, last, error }) => {
    const began = first && timesOf(dottedPath(first));
    const ended = last && timesOf(dottedPath(last));
    const durationMs = began && ended?.finishedAt ? ended.finishedAt - began.startedAt : null;
    return {
      ...(type === 'map' ? { index: key } : { id: key }),
      status,
      output: output ? (outputs[dottedPath(output)] ?? null) : null,
      error: error && { stepId: error.stepId, message: error.message, code: error.code },
      durationMs,
    };
  });
  const count = (wanted: ResultShape['status']) => shapes.filter(({ status }) => status === wanted).length;
  const counts = { total: shapes.length, succeeded: count('completed'), failed: count('failed') };
  if (type === 'map') return { output: { results, outputs: results.map(({ output }) => output), ...counts }, counts };
  const byId = Object.fromEntries(results.map((result, index) => [shapes[index]!.key, result]));
  return { output: { results: byId, ...counts }, counts };
}

/** The steps whose outputs form the output of a container. */
export const outputsNamed = (shapes: readonly ResultShape[]): Set<string> =>
  new Set(shapes.flatMap(({ output }) => (output ? [dottedPath(output)] : [])));
