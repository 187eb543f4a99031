import type { OpenAPIHono } from '@hono/zod-openapi';
import { workflowIds } from '../../../../src/automation/core/ids.ts';
import { workflowNotFound } from '../../../../src/automation/errors.ts';
import {
  deleteSchedule,
  getSchedule,
  putSchedule,
  type ScheduleDetail,
} from '../../../../src/automation/schedules/schedules.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey, requireKeyAndId } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { readSchedule } from '../../../schemas/automation/read-starts.ts';
import {
  newScheduleExamples,
  newScheduleSchema,
  type ScheduleAnswer,
  scheduleExamples,
  scheduleSchema,
} from '../../../schemas/automation/schedule.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';

const path = '/workflows/{id}/schedule';
const params = idInPath(exampleWorkflowIds);

const description = [
  'Replaces the schedule that the workflow has. Each scheduled time starts a run, even if earlier runs have not ended,',
  'with the definition and the inputs that the workflow has at that time. Its correlation id is',
  '`schedule-<uuid of the workflow>-<time>`. If an outage delays a run, it starts up to ten minutes late and is skipped',
  'after that. A run counts in the limit of the day, like a request. Times at which that limit is used up, the workflow is',
  'inactive or the variables do not match its inputs are skipped too; `lastSkipped` has the reason.',
].join('\n');

/** Schedules have no ids and no statuses, so both dialects show them alike. */
const toAnswer = ({ nextRunTimes, lastRunAt, lastSkipped, ...kept }: ScheduleDetail): ScheduleAnswer => {
  const { tags, metadata, expiresInMs, priority, version, ...schedule } = kept;
  return {
    ...schedule,
    ...(tags && { tags }),
    ...(metadata && { metadata }),
    ...(expiresInMs !== null && { expiresIn: expiresInMs / 1_000 }),
    ...(priority !== null && { priority }),
    ...(version !== null && { version }),
    nextRunTimes: nextRunTimes.map((time) => time.toISOString()),
    lastRunAt: lastRunAt?.toISOString() ?? null,
    lastSkipped: lastSkipped && { ...lastSkipped, at: lastSkipped.at.toISOString() },
  };
};

export function scheduleRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:write', 'runs:execute') });

  const put = operation({
    method: 'put',
    path,
    operationId: 'putSchedule',
    'x-client-method': 'workflows.schedule.put',
    summary: 'Schedule a workflow',
    description,
    params,
    body: jsonContent(newScheduleSchema, newScheduleExamples),
    answers: { 200: answer('Returns the schedule.', scheduleSchema, { examples: scheduleExamples }) },
  });
  const get = operation({
    method: 'get',
    path,
    operationId: 'getSchedule',
    'x-client-method': 'workflows.schedule.get',
    summary: 'Retrieve the schedule of a workflow',
    description:
      'Returns the schedule with its next times. A workflow without a schedule is answered with 404 `not_found`.',
    key: requireKeyAndId(services, { ...workflowIds, notFound: workflowNotFound }, 'workflows:read'),
    params,
    answers: { 200: answer('Returns the schedule.', scheduleSchema, { examples: scheduleExamples }) },
  });
  const remove = operation({
    method: 'delete',
    path,
    operationId: 'deleteSchedule',
    'x-client-method': 'workflows.schedule.delete',
    summary: 'Delete the schedule of a workflow',
    description: 'Runs that it has started continue.',
    key: requireKey(services, 'workflows:write'),
    params,
    answers: { 200: deletedAnswer('The schedule was deleted.') },
  });

  const routes = newRoutes();
  routes.openapi(put, async (c) => {
    const schedule = readSchedule(c.req.valid('json'));
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
    return c.json(deleted, 200);
  });
  return routes;
}
