import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { failedResult, type ListedTool, type SourceCall, type ToolResult, type ToolSource } from '../../tools/index.ts';
import { findIntegration } from '../catalog.ts';
import { listConnections } from '../connections/find-connection.ts';
import type { Action } from '../definition/integration.ts';
import { publishedFailure } from '../published-failure.ts';
import { messageOf, simulatedFailure } from './action-step.ts';
import { simulateAction } from './ask-provider.ts';
import type { BeginServices } from './begin-action.ts';
import { requestAction } from './request-action.ts';
import { type ActionOfStep, findOutcome, isFull, performForStep } from './step-actions.ts';

const schemas = new WeakMap<Action, Record<string, unknown>>();

/** The schema of an action's payload, as a model is shown it. */
function schemaOf(action: Action): Record<string, unknown> {
  let schema = schemas.get(action);
  if (!schema) {
    const { $schema: _, ...written } = z.toJSONSchema(action.payload, { io: 'input', unrepresentable: 'any' });
    schema = { ...written, type: 'object' };
    schemas.set(action, schema);
  }
  return schema;
}

const toolOf = (tool: string, action: Action): ListedTool => ({
  tool,
  description: action.summary,
  inputSchema: schemaOf(action),
  // A second attempt has the key of the first one: it acts only if that certainly did nothing.
  idempotent: true,
});

/** A failure, in words for the model. Errors of our own are thrown. */
function resultOf(error: unknown): ToolResult | 'unknown' {
  if (!(error instanceof AppError) || error.kind === 'service_unavailable') throw error;
  return error.facts?.outcome === 'unknown' ? 'unknown' : failedResult(messageOf(error));
}

/** The answer of the sandbox when nothing may be stored. @throws AppError as a call of the action */
function simulated({ integrationId, actionId, payload }: ActionOfStep): unknown {
  const { action } = requestAction(integrationId, actionId, payload);
  const answer = simulateAction(action, { integration: integrationId, action: actionId, payload });
  if (answer.kind === 'answer') return JSON.parse(answer.json);
  throw publishedFailure({ integrationId, actionId }, simulatedFailure(answer));
}

/** Performs an action for a model. In the sandbox every integration can be used, connected or not. */
async function perform(services: BeginServices, scope: Scope, asked: ActionOfStep): Promise<unknown> {
  for (;;) {
    try {
      return await performForStep(services, scope, asked);
    } catch (error) {
      asked.signal.throwIfAborted();
      const isMissing = error instanceof AppError && error.code === 'not_connected';
      if (isMissing && scope.tenant.environment === 'test') return simulated(asked);
      if (!isFull(error)) throw error;
      await sleep(error.retryAfter! * 1_000, undefined, { signal: asked.signal });
    }
  }
}

/** The actions of connected integrations, as tools of models: `integration:slack` has `slack_send_message`. */
export const actionTools = (services: BeginServices): ToolSource => ({
  prefix: 'integration',
  scope: 'integrations',

  async problemsOf(scope, ids) {
    const problems = new Map<string, string>();
    for (const id of ids) if (!findIntegration(id)) problems.set(id, `There is no integration ${id.slice(0, 100)}.`);
    if (problems.size > 0 || scope.tenant.environment === 'test') return problems;
    const connected = new Set((await listConnections(scope)).map(({ integrationId }) => integrationId));
    for (const id of ids) if (!connected.has(id)) problems.set(id, `${id} is not connected.`);
    return problems;
  },

  list: (id) => Object.entries(findIntegration(id)?.actions ?? {}).map(([name, action]) => toolOf(name, action)),

  async call(scope: Scope, { id, tool, args, key, isTrial, signal, callMs }: SourceCall) {
    const late = AbortSignal.timeout(callMs);
    const asked: ActionOfStep = {
      integrationId: id,
      actionId: tool,
      payload: args,
      key,
      signal: AbortSignal.any([signal, late]),
    };
    try {
      const answer = isTrial ? simulated(asked) : await perform(services, scope, asked);
      return { text: JSON.stringify(answer), isError: false };
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) return resultOf(error);
    }
    try {
      // It was stopped, and its row says whether it may have been performed.
      const answer = await findOutcome(services, scope, asked);
      if (answer !== undefined) return { text: JSON.stringify(answer), isError: false };
      return failedResult(`The action did not begin within ${callMs / 1_000} s.`);
    } catch (error) {
      return resultOf(error);
    }
  },
});
