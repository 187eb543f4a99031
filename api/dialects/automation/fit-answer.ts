import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import { fitAnswer, type Replaceable, referred } from '../../fit-answer.ts';
import { outputReference } from './outputs.ts';

type Members = Record<string, unknown>;

/** A run as an answer shows it, in either dialect. Each dialect has some of these members. */
interface ShownRun {
  id?: unknown;
  runId?: unknown;
  input?: unknown;
  output?: unknown;
  steps?: unknown;
  stepResults?: unknown;
}

/** The inputs and outputs of a run. Members that may be shared with the run itself are copied. */
function replaceableOf(run: ShownRun): Replaceable[] {
  const runId = String(run.runId ?? run.id);
  const ofInput = (bytes: number) => ({ $ref: `/api/v1/runs/${runId}/input`, bytes });
  const found: Replaceable[] = [];
  if (isJsonObject(run.input)) {
    const input = { ...run.input };
    run.input = input;
    found.push(...referred(input, 'input', ofInput), ...referred(input, 'variables', ofInput));
  }
  for (const step of [run.steps, run.stepResults].flat()) {
    if (!isJsonObject(step) || typeof step.stepId !== 'string') continue;
    const { stepId } = step;
    found.push(...referred(step, 'output', (bytes) => outputReference(runId, stepId, bytes)));
  }
  if (!isJsonObject(run.output) || !isJsonObject(run.output.steps)) return found;
  const steps = { ...run.output.steps };
  const output: Members = { ...run.output, steps };
  run.output = output;
  const ofSteps = Object.keys(steps).flatMap((stepId) =>
    referred(steps, stepId, (bytes) => outputReference(runId, stepId, bytes)),
  );
  found.push(...ofSteps);
  // The result is the output of a step, or the input of a run without steps.
  const ofResult = (bytes: number, text: string) => {
    const step = ofSteps.find((one) => one.text === text);
    if (step) return step.reference;
    return Object.keys(steps).length === 0 ? ofInput(bytes) : undefined;
  };
  found.push(...referred(output, 'result', ofResult));
  return found;
}

/**
 * An answer of at most 2 MiB: the largest inputs and outputs of its runs become references, until it fits. Ids, statuses and
 * errors stay.
 * @param runs those in `answer`, which are changed
 * @param maxBytes where less fits
 */
export const fitRuns = <Answer extends object>(answer: Answer, runs: readonly ShownRun[], maxBytes?: number): Answer =>
  fitAnswer(answer, () => runs.flatMap(replaceableOf), maxBytes);
