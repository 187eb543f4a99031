import { z } from '@hono/zod-openapi';
import { findIntegration, catalog as integrations } from '../../../src/integrations/catalog.ts';
import type { Action } from '../../../src/integrations/integration.ts';
import { freeForm } from '../free-form.ts';
import { integrationInPath } from './integration.ts';

/** Every action with its names, in the order in which integrations are listed. */
const all = integrations.flatMap(({ id, actions }) =>
  Object.entries(actions).map(([name, action]) => ({ integrationId: id, actionId: name, action })),
);

/** What an action takes or answers, as JSON Schema, with an example. */
function described(name: string, { summary }: Action, schema: z.ZodType, io: 'input' | 'output', example: unknown) {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return { title: name, description: summary, ...json, examples: [example] };
}

/** Which of the schemas holds follows from the path. */
const oneOfAll = (io: 'input' | 'output', part: 'payload' | 'answer') =>
  all.map(({ integrationId, actionId, action }) =>
    described(`${integrationId} ${actionId}`, action, action[part], io, action.example[part]),
  );

export const actionInPath = integrationInPath.extend({
  actionId: z.string().openapi({
    param: { name: 'actionId', in: 'path', example: 'send_message' },
    description: 'One of the actions that the integration lists.',
  }),
});

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema of another library's types
const anyOf = (schemas: object[]): any => ({ anyOf: schemas });

export const actionPayloadSchema = freeForm.openapi('ActionPayload', {
  ...anyOf(oneOfAll('input', 'payload')),
  description:
    'What the action takes. Which of these it is, the path says: their titles are `<integrationId> <actionId>`.',
});

export const actionAnswerSchema = freeForm.openapi('ActionAnswer', {
  ...anyOf(oneOfAll('output', 'answer')),
  description: 'What the action answers: their titles are `<integrationId> <actionId>`.',
});

export const scheduledActionSchema = z
  .object({
    status: z.literal('scheduled'),
    actionRunId: z
      .string()
      .openapi({ description: 'Reads and cancels the action; operators find its workflow and audit entry by it.' }),
    runAt: z.iso.datetime().openapi({ description: 'When it is done.' }),
  })
  .openapi('ScheduledAction');

const { payload, answer } = findIntegration('slack')!.actions.send_message!.example as {
  payload: Record<string, unknown>;
  answer: Record<string, unknown>;
};
export const actionPayloadExamples = { A: payload, B: payload };
export const actionAnswerExamples = { A: answer, B: answer };

const scheduled = {
  status: 'scheduled' as const,
  actionRunId: 'act_0199aaaabbbb7ccc8dddeeeeffff0000',
  runAt: '2026-11-20T09:30:00.000Z',
};
export const scheduledActionExamples = { A: scheduled, B: scheduled };

/** Each action in a line, for the description of the operation. */
export const actionsInWords = all
  .map(({ integrationId, actionId, action }) => `- \`${integrationId}/actions/${actionId}\`: ${action.summary}`)
  .join('\n');
