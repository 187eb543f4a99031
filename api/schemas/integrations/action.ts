import { z } from '@hono/zod-openapi';
import { catalog as integrations } from '../../../src/integrations/catalog.ts';
import type { Action } from '../../../src/integrations/definition/integration.ts';
import { freeForm } from '../free-form.ts';
import { integrationInPath } from './integration.ts';

/** `microsoft-teams` is `MicrosoftTeams`. */
export const capitalized = (words: string): string =>
  words
    .split(/[-_]/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');

const uncapitalized = (name: string): string => name[0]!.toLowerCase() + name.slice(1);

/** What an action takes or answers, as JSON Schema. */
function documented(name: string, description: string, schema: z.ZodType, io: 'input' | 'output') {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  // biome-ignore lint/suspicious/noExplicitAny: JSON Schema of another library's types
  return freeForm.openapi(name, { additionalProperties: undefined, ...json, description } as any);
}

/** An action in the reference: a path, an operation and schemas of its own. */
export interface DocumentedAction {
  path: string;
  operationId: string;
  /** The method of the generated client: `integrations.slack.sendMessage`. */
  clientMethod: string;
  summary: string;
  payload: typeof freeForm;
  payloadExample: Record<string, unknown>;
  result: typeof freeForm;
  resultExample: Record<string, unknown>;
  /** Whether its payload can request a later time. */
  canBeDelayed: boolean;
}

function document(integrationId: string, actionId: string, action: Action): DocumentedAction {
  const name = capitalized(integrationId) + capitalized(actionId);
  const { payload, answer } = action.example as Record<'payload' | 'answer', Record<string, unknown>>;
  return {
    path: `/${integrationId}/actions/${actionId}`,
    operationId: uncapitalized(name),
    clientMethod: `integrations.${[integrationId, actionId].map((words) => uncapitalized(capitalized(words))).join('.')}`,
    summary: action.summary.replace(/\.$/, ''),
    payload: documented(name, `The payload of \`${integrationId}\` \`${actionId}\`.`, action.payload, 'input'),
    payloadExample: payload,
    result: documented(`${name}Result`, `The answer of \`${integrationId}\` \`${actionId}\`.`, action.answer, 'output'),
    resultExample: answer,
    canBeDelayed: action.delay !== undefined,
  };
}

/** Every action, in the order in which integrations are listed. */
export const documentedActions: readonly DocumentedAction[] = integrations.flatMap(({ id, actions }) =>
  Object.entries(actions).map(([name, action]) => document(id, name, action)),
);

export const actionInPath = integrationInPath.extend({ actionId: z.string() });

export const scheduledActionSchema = z
  .object({
    status: z.literal('scheduled'),
    actionRunId: z
      .string()
      .openapi({ description: 'Reads and cancels the action; operators find its workflow and audit entry by it.' }),
    runAt: z.iso.datetime().openapi({ description: 'When the action is performed.' }),
  })
  .openapi('ScheduledAction');

const scheduled = {
  status: 'scheduled' as const,
  actionRunId: 'act_0199aaaabbbb7ccc8dddeeeeffff0000',
  runAt: '2026-11-20T09:30:00.000Z',
};
export const scheduledActionExamples = { A: scheduled, B: scheduled };
