import { isTerminal, type RunError } from '../../../src/automation/core/run-status.ts';
import type { SeenEvent } from '../../../src/automation/runs/follow-run.ts';
import type { StepDelta } from '../../../src/automation/step-texts/delta-reader.ts';
import { shownWait } from './dialect.ts';
import { fitRuns } from './fit-answer.ts';
import { outputReference, shownOutput, shownPath } from './outputs.ts';

/** What differs between the dialects in an event. */
interface EventWords {
  runId: string;
  status: string;
  durationName: 'duration' | 'durationMs';
  showsTokens: boolean;
  /** Writes the id of another run. */
  idOf(uuid: string): string;
  error(error: RunError): unknown;
}

/** Leaves out fields without a value. */
const known = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

/** The data of an event in a run's stream: about its step if it has one, otherwise about the run. */
export function eventData({ name, at, step, run, wait }: SeenEvent, words: EventWords) {
  const { runId, status, durationName, showsTokens, error } = words;
  const common = { runId, at: at.toISOString() };
  if (!step) {
    if (!isTerminal(run.status) || name === 'run.started') return common;
    const measured = { tokensUsed: showsTokens ? run.tokensUsed : null, [durationName]: run.durationMs };
    const ending = { output: shownOutput(run, runId), error: run.error && error(run.error) };
    const ended = { ...common, status, ...known({ ...measured, ...ending }) };
    return fitRuns(ended, [ended]);
  }
  const ofStep = { ...common, stepId: step.stepId, name: step.name ?? step.stepId, ...shownPath(step) };
  if (name === 'step.waiting' && wait) {
    const { since: _, ...shown } = shownWait({ ...wait, stepId: step.stepId, path: step.path }, words.idOf);
    return { ...ofStep, ...shown };
  }
  if (name === 'step.started' || name === 'step.resumed') return ofStep;
  const {
    output,
    outputApart,
    tokensUsed,
    durationMs,
    provider,
    model,
    attempts,
    warnings,
    warningsTotal,
    models,
    toolCalls,
  } = step;
  return {
    ...ofStep,
    status: step.status,
    attempts,
    warnings,
    warningsTotal,
    ...known({
      tokensUsed: showsTokens ? tokensUsed : null,
      [durationName]: durationMs,
      provider,
      model,
      models,
      toolCalls,
      output: outputApart === null ? output : outputReference(runId, step.stepId, outputApart, step.path),
      error: step.error && error(step.error),
    }),
  };
}

/** The data of a part of a step's text. `runId` is in the form of the dialect. */
export const deltaData = ({ stepId, path, offset, text }: StepDelta, runId: string) => ({
  runId,
  stepId,
  ...shownPath({ path }),
  offset,
  text,
});
