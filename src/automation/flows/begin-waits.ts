import { clock } from '../../platform/clock.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import { beginApproval } from '../approvals/begin-approval.ts';
import { readDuration } from '../core/duration.ts';
import { readMoment } from '../core/moment.ts';
import {
  defaultEventTimeout,
  type EventStep,
  type LeafStep,
  maxWaitSeconds,
  type WaitStep,
} from '../core/step-types.ts';
import { renderTemplate, templateNames, type Warning } from '../core/template.ts';
import { needsOf } from '../events/wait-values.ts';
import type { StepContext, StepEnd, StepFault } from '../steps/step-context.ts';
import { OutputsTooLarge } from '../steps/step-outputs.ts';
import { storable } from '../steps/storable.ts';
import type { NewWait } from './waits.ts';

/** The part of a step's wait that does not depend on its position, or the result of a step that ended at once. */
export type Beginning =
  | {
      wait: Omit<NewWait, 'runId' | 'path' | 'stepId'>;
      /** Further work of the transaction in which it begins to wait. */
      open?: (tx: Transaction) => Promise<void>;
    }
  | { end: StepEnd };

const invalid = (message: string, warnings: Warning[] = []): { end: StepFault & { warnings: Warning[] } } => ({
  end: { status: 'failed', code: 'invalid_payload', message, warnings },
});

/** The output of a step that waited until then. */
const waitedUntil = (until: Date): StepEnd => ({
  status: 'completed',
  output: storable({ until: until.toISOString() })!,
});

async function endOfWait(
  step: WaitStep,
  context: StepContext,
  now: Date,
): Promise<{ until: Date; warnings: Warning[] } | { end: StepEnd }> {
  if (step.for !== undefined) {
    const ms = readDuration(step.for);
    if (ms === undefined) return invalid('`for` is no duration.');
    return { until: new Date(now.getTime() + ms), warnings: [] };
  }
  const template = step.until ?? '';
  const { text, warnings } = renderTemplate(template, await context.values(new Set(templateNames(template))));
  const until = readMoment(text);
  if (!until) return invalid('`until` is not a time with an offset, as in 2026-12-01T09:00:00Z.', warnings);
  return { until, warnings };
}

async function beginWait(step: WaitStep, context: StepContext): Promise<Beginning> {
  const now = clock.date();
  const found = await endOfWait(step, context, now);
  if ('end' in found) return found;
  const { until, warnings } = found;
  if (until.getTime() - now.getTime() > maxWaitSeconds * 1_000) {
    return invalid(`A step waits at most ${maxWaitSeconds / 86_400} days.`, warnings);
  }
  return until <= now ? { end: { ...waitedUntil(until), warnings } } : { wait: { type: 'wait', until } };
}

/**
 * Bytes of outputs that the `match` of a step may look at: they are read again for each event of the name. The outputs that a
 * step sees are complete when it begins.
 */
const maxMatchedBytes = 1024 ** 2;

/** @throws OutputsTooLarge */
function beginEvent(
  { event, match, timeout = defaultEventTimeout, lookBack = 0 }: EventStep,
  { outputBytes }: WaitPlace,
): Beginning {
  if (match !== undefined && outputBytes(needsOf(match).steps) > maxMatchedBytes) {
    throw new OutputsTooLarge('The outputs that `match` looks at have more than 1 MiB together.');
  }
  const until = new Date(clock.now() + (readDuration(timeout) ?? 0));
  return { wait: { type: 'event', event, match, lookBack, until } };
}

/** The position of a step that begins to wait. */
interface WaitPlace {
  /** Dotted. */
  path: string;
  /** Approvals that its run has begun and not written yet. */
  unwrittenApprovals: number;
  /** Bytes of those outputs that it sees, together. */
  outputBytes(steps: ReadonlySet<string> | 'all'): number;
}

/**
 * A step that waits begins to. @throws OutputsTooLarge; TemplateTooLong; StorageFailure
 */
export async function beginToWait(
  services: { sealer: Sealer },
  scope: Scope,
  step: LeafStep,
  place: WaitPlace,
  context: StepContext,
): Promise<Beginning | undefined> {
  if (step.type === 'wait') return beginWait(step, context);
  if (step.type === 'event') return beginEvent(step, place);
  if (step.type !== 'approval') return undefined;
  const begun = await beginApproval(services, scope, step, place, context);
  if ('fault' in begun) return { end: begun.fault };
  const { approvalId: subjectId, until, open } = begun;
  return { wait: { type: 'approval', until, subjectId }, open };
}
