import type { OpenAPIHono } from '@hono/zod-openapi';
import { receiveEvent } from '../../../../src/automation/events/receive-event.ts';
import { getTriggers, putTriggers } from '../../../../src/automation/events/triggers.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  newEventExamples,
  newEventSchema,
  newTriggersExamples,
  receivedEventExamples,
  receivedEventSchema,
  shownTriggers,
  shownTriggersSchema,
  triggersExamples,
  triggersSchema,
} from '../../../schemas/automation/event.ts';
import { readTriggers } from '../../../schemas/automation/read-starts.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';

const path = '/workflows/{id}/triggers';
const params = idInPath(exampleWorkflowIds);

export function eventRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Events', key: requireKey(services, 'runs:execute') });

  const send = operation({
    method: 'post',
    path: '/events',
    operationId: 'sendEvent',
    'x-client-method': 'events.send',
    summary: 'Send an event',
    description: [
      'Resumes every step of a run that waits for an event of this name and whose `match` is true, and starts every active',
      'workflow with a trigger for it whose filter is true. An event is kept for an hour, for steps that look back. An',
      'event and a step that begins to wait at the same moment are decided by the order in which they were stored.',
    ].join('\n'),
    body: jsonContent(newEventSchema, newEventExamples),
    idempotent: true,
    answers: {
      202: answer('Returns how many steps the event resumed and how many runs it started.', receivedEventSchema, {
        examples: receivedEventExamples,
        replayable: true,
      }),
    },
  });
  const put = operation({
    method: 'put',
    path,
    operationId: 'putTriggers',
    'x-client-method': 'workflows.triggers.put',
    summary: 'Set the triggers of a workflow',
    description: [
      'Replaces the triggers that the workflow has. An event that matches one of them starts a run: the event is its',
      'input, `{{input}}`, and `inputs` become its variables. Several triggers that match the same event start one run.',
      'Such a run counts in the limit of the day, like a request. An event that a run of the workflow caused starts no further run. Neither does an event at the end of a chain of more than five workflows. `lastSkipped` has the reason.',
    ].join('\n'),
    key: requireKey(services, 'workflows:write', 'runs:execute'),
    params,
    body: jsonContent(triggersSchema, newTriggersExamples),
    answers: { 200: answer('Returns the triggers.', shownTriggersSchema, { examples: triggersExamples }) },
  });
  const get = operation({
    method: 'get',
    path,
    operationId: 'getTriggers',
    'x-client-method': 'workflows.triggers.get',
    summary: 'Retrieve the triggers of a workflow',
    description:
      'Returns the triggers. Each has the time when it last started a run, and the last reason why it did not.',
    key: requireKey(services, 'workflows:read'),
    params,
    answers: { 200: answer('Returns the triggers.', shownTriggersSchema, { examples: triggersExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(send, async (c) => {
    const { name, data = {}, id } = c.req.valid('json');
    const event = { name, data, id };
    const { replayed, ...answer } = await receiveEvent(services, c.get('scope'), event, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(answer), 202);
  });
  routes.openapi(put, async (c) => {
    const triggers = readTriggers(c.req.valid('json'));
    const put = await putTriggers(services, c.get('scope'), c.req.valid('param').id, triggers);
    return c.json(success(shownTriggers(put)), 200);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(shownTriggers(await getTriggers(c.get('scope'), c.req.valid('param').id))), 200);
  });
  return routes;
}
