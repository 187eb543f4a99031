import type { ServerEvent } from './core/streams.ts';
import type { RunDetail } from './generated/api/types.gen.ts';

interface OfRun {
  runId: string;
  /** When it happened. */
  at: string;
}

interface OfStep extends OfRun {
  stepId: string;
  name: string;
  /** Where the step is inside parallel branches and maps. */
  path?: (string | number)[];
}

interface EndedRun extends OfRun {
  status: RunDetail['status'];
  durationMs?: number;
  tokensUsed?: number;
  output?: RunDetail['output'];
  error?: string;
}

interface EndedStep extends OfStep {
  status: string;
  attempts: number;
  durationMs?: number;
  tokensUsed?: number;
  provider?: string;
  model?: string;
  /** The output of the step. A large one is `{$ref, bytes}`: read it with `runs.outputs.get`. */
  output?: unknown;
  error?: unknown;
  warnings: { code: string; name: string }[];
  warningsTotal: number;
}

/** The reason why a step waits. */
interface WaitingStep extends OfStep {
  type: string;
  until?: string;
  approvalId?: string;
  event?: string;
  childRunId?: string;
}

/** The text of a model since the last event, or so far: the text is then `text.slice(0, offset) + delta.text`. */
interface StepDelta {
  runId: string;
  stepId: string;
  path?: (string | number)[];
  /** Characters of the text before it. 0 begins the text anew. */
  offset: number;
  text: string;
}

/** An event in the life of a run. */
export type RunEvent =
  | ServerEvent<'run.started', OfRun>
  | ServerEvent<'step.started' | 'step.resumed', OfStep>
  | ServerEvent<'step.waiting', WaitingStep>
  | ServerEvent<'step.delta', StepDelta>
  | ServerEvent<'step.completed' | 'step.failed', EndedStep>
  | ServerEvent<'run.completed' | 'run.failed' | 'run.cancelled', EndedRun>;

const lastEvents: readonly string[] = ['run.completed', 'run.failed', 'run.cancelled'];

/** Whether the run has ended with this event. */
export const endsRun = ({ event }: ServerEvent): boolean => lastEvents.includes(event);
