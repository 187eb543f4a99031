import type { OutputsApart, RunOutput } from '../../../src/automation/runs.ts';

/** Replaces an output that is too large to be shown: the path to read it from, and its size as JSON. */
export const outputReference = (runId: string, stepId: string, bytes: number) => ({
  $ref: `/api/v1/runs/${runId}/outputs/${stepId}`,
  bytes,
});

/** A run's output, with references in place of large ones. `runId` is in the form of the dialect. */
export function shownOutput(
  { output, outputsApart, resultApart }: OutputsApart & { output: RunOutput | null },
  runId: string,
): RunOutput | null {
  if (!output || !outputsApart) return output;
  const references = Object.fromEntries(
    Object.entries(outputsApart).map(([stepId, bytes]) => [stepId, outputReference(runId, stepId, bytes)]),
  );
  return {
    result: resultApart === null ? output.result : references[resultApart],
    steps: { ...output.steps, ...references },
  };
}
