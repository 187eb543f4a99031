import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type FieldError } from '../../platform/errors.ts';
import type { StepError, StepFields, StepKind } from '../../platform/parts/step-kind.ts';
import { findIntegration } from '../catalog.ts';
import type { ActionFailure } from '../core/action-status.ts';
import { publishedFailure } from '../published-failure.ts';
import { type ProviderAnswer, simulateAction } from './ask-provider.ts';
import type { BeginServices } from './begin-action.ts';
import { findAction, problemsOf, requestAction } from './request-action.ts';
import { isFull, performForStep } from './step-actions.ts';

/** Error codes of steps. Every other error of an action is `action_failed`. */
const codes = ['not_connected', 'auth_expired', 'rate_limited', 'action_failed'] as const;

/** How many problems of a payload the message contains. */
const maxErrors = 3;

/** The refused action, in words that callers and models may read. */
export function messageOf({ message, facts }: AppError): string {
  const { errors, providerCode } = (facts ?? {}) as { errors?: FieldError[]; providerCode?: string };
  if (errors) {
    const listed = errors.slice(0, maxErrors).map((one) => `${one.path || 'payload'}: ${one.message}`);
    return [message, ...listed].join(' ').slice(0, 1_000);
  }
  return providerCode === undefined ? message : `${message} It said ${providerCode}.`;
}

/** @throws errors that are not about the action, after which the step is executed anew */
function errorOf(error: unknown): StepError {
  if (!(error instanceof AppError) || error.kind === 'service_unavailable') throw error;
  const { code, retryAfter } = error;
  if (code === 'rate_limited' || code === 'rate_limit_exceeded') {
    const retryAfterMs = retryAfter === undefined ? undefined : retryAfter * 1_000;
    return { code: 'rate_limited', message: error.message, retryAfterMs };
  }
  const { outcome } = (error.facts ?? {}) as { outcome?: string };
  const isUnknown = outcome === 'unknown';
  return { code: codes.find((one) => one === code) ?? 'action_failed', message: messageOf(error), isUnknown };
}

/** How long a step waits itself while its organization is at the limit of actions under way. */
const maxPatienceMs = 60_000;

export function simulatedFailure(answer: Exclude<ProviderAnswer, { kind: 'answer' }>): ActionFailure {
  if (answer.kind === 'not_connected') return { code: answer.kind };
  const { kind, providerCode, retryAfterSeconds } = answer.failure;
  const code = kind === 'not_done' || kind === 'lost' ? 'action_failed' : kind;
  return {
    code,
    ...(providerCode !== undefined && { providerCode }),
    ...(retryAfterSeconds !== undefined && { retryAfter: retryAfterSeconds }),
  };
}

const read = ({ integration, action, payload }: StepFields) => ({
  integrationId: String(integration),
  actionId: String(action),
  payload,
});

/** The steps that perform an action of an integration. */
export const actionStep: StepKind<BeginServices> = {
  type: 'action',
  scope: 'integrations',
  rendersText: true,
  description: "Performs an action of a connected integration. Its output is the action's answer.",

  check(_, fields) {
    const { integrationId, actionId, payload } = read(fields);
    const { name, actions } = findIntegration(integrationId) ?? {};
    if (!actions) return [{ path: 'integration', message: 'There is no integration of this id.' }];
    const action = findAction(integrationId, actionId);
    const known = Object.keys(actions).join(', ');
    if (!action) return [{ path: 'action', message: `${name} has no such action. It has ${known}.` }];
    return problemsOf(action, payload).map(({ path, message }) => ({
      path: path === '' ? 'payload' : `payload.${path}`,
      message,
    }));
  },

  async perform(services, scope, { fields, key, mayWait, signal }) {
    const until = performance.now() + maxPatienceMs;
    for (;;) {
      try {
        return { output: await performForStep(services, scope, { ...read(fields), key, signal }) };
      } catch (error) {
        signal.throwIfAborted();
        if (!isFull(error)) return { error: errorOf(error) };
        const afterMs = error.retryAfter! * 1_000;
        if (mayWait) return { slotAfterMs: afterMs };
        if (performance.now() > until) return { error: errorOf(error) };
        await sleep(afterMs, undefined, { signal });
      }
    }
  },

  async simulate(_services, _scope, fields) {
    const names = read(fields);
    const { integrationId: integration, actionId: action, payload } = names;
    try {
      const answer = simulateAction(requestAction(integration, action, payload).action, {
        integration,
        action,
        payload,
      });
      if (answer.kind === 'answer') return { output: JSON.parse(answer.json) };
      throw publishedFailure(names, simulatedFailure(answer));
    } catch (error) {
      return { error: errorOf(error) };
    }
  },
};
