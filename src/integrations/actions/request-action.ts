import type { z } from 'zod';
import type { FieldError } from '../../platform/errors.ts';
import { findIntegration } from '../catalog.ts';
import type { Action, ActionPriority } from '../definition/integration.ts';
import { integrationNotFound, invalidPayload } from '../errors.ts';
import { actionNotFound } from '../published-failure.ts';

/** An action that exists, with a payload that fits it. */
export interface RequestedAction {
  integrationId: string;
  actionId: string;
  action: Action;
  /** As the caller sent it, with members that the action does not know. */
  payload: Record<string, unknown>;
  /** 0: now. */
  delaySeconds: number;
  priority: ActionPriority;
}

export const findAction = (integrationId: string, actionId: string): Action | undefined => {
  const actions = findIntegration(integrationId)?.actions;
  return actions && Object.hasOwn(actions, actionId) ? actions[actionId] : undefined;
};

const errorsOf = ({ issues }: z.ZodError): FieldError[] =>
  issues.map(({ path, message }) => ({ path: path.join('.'), message }));

/** The problems of a payload for an action. */
export function problemsOf(action: Action, payload: unknown): FieldError[] {
  const { error } = action.payload.safeParse(payload);
  return error ? errorsOf(error) : [];
}

/**
 * Checks that the action exists, then that the payload fits.
 * @throws AppError integration_not_found, not_found, invalid_payload
 */
export function requestAction(
  integrationId: string,
  actionId: string,
  payload: Record<string, unknown>,
): RequestedAction {
  if (!findIntegration(integrationId)) throw integrationNotFound(integrationId);
  const action = findAction(integrationId, actionId);
  if (!action) throw actionNotFound({ integrationId, actionId });
  const { data, error } = action.payload.safeParse(payload);
  if (error) throw invalidPayload(errorsOf(error));
  const [delaySeconds, priority] = [action.delay?.(data) ?? 0, action.priority?.(data) ?? 'normal'];
  return { integrationId, actionId, action, payload, delaySeconds, priority };
}
