import { clock } from '../../platform/clock.ts';
import type { Mock } from '../core/mocks.ts';
import type { RunErrorCode } from '../core/run-status.ts';
import { defaultApprovalActions, type Step } from '../core/step-types.ts';
import type { StepEnd } from '../steps/step-context.ts';
import { storable } from '../steps/storable.ts';

const completed = (output: unknown): StepEnd => {
  const stored = storable(output);
  if (stored) return { status: 'completed', output: stored };
  return { status: 'failed', code: 'output_too_large', message: 'The mock is too large.' };
};

/** A step that would wait for a time, an event or a person completes at once in a test run. */
function endOfWaiting(step: Step): StepEnd | undefined {
  const now = clock.date().toISOString();
  if (step.type === 'wait') return completed({ until: now });
  if (step.type === 'event') return completed(null);
  if (step.type !== 'approval') return undefined;
  const action = (step.actions ?? defaultApprovalActions)[0]!.id;
  return completed({ action, values: {}, comment: null, respondedBy: null, respondedAt: now, channel: 'test' });
}

/** How a step of a test run ends that is not executed. @returns undefined when it is */
export function endInTest(step: Step, mock: Mock | undefined): StepEnd | undefined {
  if (!mock) return endOfWaiting(step);
  if ('output' in mock) return completed(mock.output);
  const { message, code } = mock.error;
  return { status: 'failed', code: code as RunErrorCode, message };
}
