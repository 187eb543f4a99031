import type { Scope, Transaction } from '../../platform/database/scope.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import { beginApproval } from '../approvals/begin-approval.ts';
import { readDuration } from '../core/duration.ts';
import {
  defaultEventTimeout,
  type EventStep,
  type LeafStep,
  maxWaitSeconds,
  type WaitStep,
} from '../core/step-types.ts';
import { renderTemplate, templateNames, type Warning } from '../core/template.ts';
import type { StepContext } from '../steps/step-context.ts';
import type { StepEnd, StepFault } from '../steps/step-end.ts';
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

/** RFC 3339 with an offset. */
const moment = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;

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
  const time = moment.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN;
  if (Number.isNaN(time)) return invalid('`until` is not a time with an offset, as in 2026-12-01T09:00:00Z.', warnings);
  return { until: new Date(time), warnings };
}

async function beginWait(step: WaitStep, context: StepContext): Promise<Beginning> {
  const now = new Date();
  const found = await endOfWait(step, context, now);
  if ('end' in found) return found;
  const { until, warnings } = found;
  if (until.getTime() - now.getTime() > maxWaitSeconds * 1_000) {
    return invalid(`A step waits at most ${maxWaitSeconds / 86_400} days.`, warnings);
  }
  return until <= now ? { end: { ...waitedUntil(until), warnings } } : { wait: { type: 'wait', until } };
}

function beginEvent({ event, match, timeout = defaultEventTimeout, lookBack = 0 }: EventStep): Beginning {
  const until = new Date(Date.now() + (readDuration(timeout) ?? 0));
  return { wait: { type: 'event', event, match, lookBack, until } };
}

/** The position of a step that begins to wait. */
interface WaitPlace {
  /** Dotted. */
  path: string;
  /** Approvals that its run has begun and not written yet. */
  unwrittenApprovals: number;
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
  if (step.type === 'event') return beginEvent(step);
  if (step.type !== 'approval') return undefined;
  const begun = await beginApproval(services, scope, step, place, context);
  if ('fault' in begun) return { end: begun.fault };
  const { approvalId: subjectId, until, open } = begun;
  return { wait: { type: 'approval', until, subjectId }, open };
}
