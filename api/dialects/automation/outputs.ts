import { readPath } from '../../../src/automation/core/step-path.ts';
import type { RunOutput, RunSummary, StepResult, ValuesApart } from '../../../src/automation/runs/runs.ts';

/** Replaces an output that is too large to be shown: the path to read it from, and its size as JSON. */
export const outputReference = (runId: string, stepId: string, bytes: number, path: string | null = null) => ({
  $ref: `/api/v1/runs/${runId}/outputs/${stepId}${path === null ? '' : `?path=${path}`}`,
  bytes,
});

/** Replaces an input, or variables, in the same way. */
const inputReference = (runId: string, bytes: number) => ({ $ref: `/api/v1/runs/${runId}/input`, bytes });

/** The input of a run, with references in place of large values. `runId` is in the form of the dialect. */
export const shownInput = (
  { input, inputApart, variables, variablesApart }: Pick<RunSummary, 'input' | 'variables'> & ValuesApart,
  runId: string,
) => ({
  input: inputApart === null ? input : inputReference(runId, inputApart),
  variables: variablesApart === null ? variables : inputReference(runId, variablesApart),
});

/** A run's output, in the same way. */
export function shownOutput(
  { output, outputsApart, resultApart, returnsInput, inputApart }: ValuesApart & { output: RunOutput | null },
  runId: string,
): RunOutput | null {
  if (!output) return output;
  if (returnsInput && inputApart !== null) return { result: inputReference(runId, inputApart), steps: {} };
  if (!outputsApart) return output;
  const references = Object.fromEntries(
    Object.entries(outputsApart).map(([stepId, bytes]) => [stepId, outputReference(runId, stepId, bytes)]),
  );
  return {
    result: resultApart === null ? output.result : references[resultApart],
    steps: { ...output.steps, ...references },
  };
}

/** The position of a step within others. */
export const shownPath = ({ path }: Pick<StepResult, 'path'>) => (path === null ? {} : { path: readPath(path) });

/** The position of a step within others, and the results of a container's children. Other steps have neither. */
export const shownPlace = ({ path, counts }: Pick<StepResult, 'path' | 'counts'>) => ({
  ...shownPath({ path }),
  // While it runs, only the total is known.
  ...(counts?.succeeded !== undefined && { counts }),
});
