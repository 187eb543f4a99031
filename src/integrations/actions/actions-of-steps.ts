import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type FieldError } from '../../platform/errors.ts';
import type { Scope } from '../../platform/scope.ts';
import { findIntegration } from '../catalog.ts';
import type { BeginServices } from './begin-action.ts';
import { findAction, problemsOf } from './request-action.ts';
import { type ActionOfStep, performForStep } from './step-actions.ts';

/** The outcome of an action for a step: its answer, or why it was not performed. */
type Outcome = { answer: unknown } | { code: Code; message: string; retryAfterMs?: number };

/** Error codes of steps. Every other error of an action is `action_failed`. */
const codes = ['not_connected', 'auth_expired', 'rate_limited', 'action_failed'] as const;
type Code = (typeof codes)[number];

/** How many problems of a payload the message contains. */
const maxErrors = 3;

function messageOf({ message, facts }: AppError): string {
  const { errors, providerCode } = (facts ?? {}) as { errors?: FieldError[]; providerCode?: string };
  if (errors) {
    const listed = errors.slice(0, maxErrors).map((one) => `${one.path || 'payload'}: ${one.message}`);
    return [message, ...listed].join(' ').slice(0, 1_000);
  }
  return providerCode === undefined ? message : `${message} It said ${providerCode}.`;
}

/** @throws errors that are not about the action, after which the step is executed anew */
function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof AppError) || error.kind === 'service_unavailable') throw error;
  const { code, retryAfter } = error;
  if (code === 'rate_limited' || code === 'rate_limit_exceeded') {
    const retryAfterMs = retryAfter === undefined ? undefined : retryAfter * 1_000;
    return { code: 'rate_limited', message: error.message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const published = codes.find((one) => one === code);
  return { code: published ?? 'action_failed', message: messageOf(error) };
}

/** How long a step waits while its organization is at the limit of actions under way. */
const maxPatienceMs = 60_000;

const isFull = (error: unknown): error is AppError =>
  error instanceof AppError && error.kind === 'rate_limit_exceeded' && error.retryAfter !== undefined;

/** Implements the port through which steps of workflows perform actions. */
export const actionsOfSteps = (services: BeginServices) => ({
  isIntegration: (id: string): boolean => findIntegration(id) !== undefined,

  /** Problems because of which an action can never succeed, with paths in the step. */
  check(integrationId: string, actionId: string, payload: Record<string, unknown>): FieldError[] {
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

  /** As `performForStep`. @throws the reason of the signal; errors of our own */
  async perform(scope: Scope, action: ActionOfStep): Promise<Outcome> {
    const { signal } = action;
    const until = performance.now() + maxPatienceMs;
    for (;;) {
      try {
        return { answer: await performForStep(services, scope, action) };
      } catch (error) {
        signal.throwIfAborted();
        if (!isFull(error) || performance.now() > until) return outcomeOf(error);
        await sleep(error.retryAfter! * 1_000, undefined, { signal });
      }
    }
  },
});

export type ActionsOfSteps = ReturnType<typeof actionsOfSteps>;
