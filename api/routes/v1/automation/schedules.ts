import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { deleteSchedule, getSchedule, putSchedule, type ScheduleDetail } from '../../../../src/automation/schedules.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import {
  newScheduleExamples,
  newScheduleSchema,
  type ScheduleAnswer,
  scheduleExamples,
  scheduleSchema,
} from '../../../schemas/automation/schedule.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';

const tags = ['Workflows'];
const mayWrite = keySecurity('workflows:write');
const path = '/workflows/{id}/schedule';
const params = idInPath(exampleWorkflowIds);

const description = [
  'At each time an ordinary run is started, whether or not earlier ones have ended: with the definition and the inputs',
  'that the workflow has then, and the correlation id `schedule-<uuid of the workflow>-<time>`. A time that an outage',
  'kept from starting its run is made up for within ten minutes and passed over after that. So is a time at which the',
  'workflow is not active, or at which the variables do not fit its inputs.',
].join('\n');

/** Schedules name no ids and no statuses: both dialects show them alike. */
const toAnswer = ({ nextRunTimes, lastRunAt, ...schedule }: ScheduleDetail): ScheduleAnswer => ({
  ...schedule,
  nextRunTimes: nextRunTimes.map((time) => time.toISOString()),
  lastRunAt: lastRunAt?.toISOString() ?? null,
});

export function scheduleRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const write = requireKey(services, 'workflows:write');

  const put = createRoute({
    method: 'put',
    path,
    tags,
    security: mayWrite,
    operationId: 'putSchedule',
    summary: 'Run a workflow by the clock; replaces the schedule that it has',
    description,
    middleware: [write, jsonBody()] as const,
    request: { params, body: { required: true, content: jsonContent(newScheduleSchema, newScheduleExamples) } },
    responses: {
      200: answer('The schedule.', scheduleSchema, { examples: scheduleExamples }),
      ...failures(404, 413, 415),
    },
  });
  const get = createRoute({
    method: 'get',
    path,
    tags,
    security: keySecurity('workflows:read'),
    operationId: 'getSchedule',
    description: 'With the next times, as Temporal reckons them. 404 `not_found` when the workflow has none.',
    summary: "Read a workflow's schedule",
    middleware: [requireKey(services, 'workflows:read')] as const,
    request: { params },
    responses: { 200: answer('The schedule.', scheduleSchema, { examples: scheduleExamples }), ...failures(404) },
  });
  const remove = createRoute({
    method: 'delete',
    path,
    tags,
    security: mayWrite,
    operationId: 'deleteSchedule',
    description: 'Runs that it has started go on.',
    summary: "Delete a workflow's schedule",
    middleware: [write] as const,
    request: { params },
    responses: {
      200: answer('It is gone.', z.object({ deleted: z.literal(true) }), {
        examples: { A: { deleted: true as const }, B: { deleted: true as const } },
      }),
      ...failures(404),
    },
  });

  const routes = newRoutes();
  routes.openapi(put, async (c) => {
    const { input = null, paused = false, variables = {}, ...times } = c.req.valid('json');
    const schedule = { ...times, paused, input, variables };
    return c.json(
      success(toAnswer(await putSchedule(services, c.get('scope'), c.req.valid('param').id, schedule))),
      200,
    );
  });
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(await getSchedule(services, c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteSchedule(services, c.get('scope'), c.req.valid('param').id);
    return c.json(success({ deleted: true as const }), 200);
  });
  return routes;
}
