import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { OpenAPIHono } from '@hono/zod-openapi';
import {
  type CalendarView,
  deleteCalendar,
  listCalendars,
  requestSync,
  updateCalendar,
} from '../../../../src/scheduling/calendars/calendars.ts';
import { calendarIds, hostIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { cutTexts } from '../../../fit-answer.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  calendarChangeExamples,
  calendarChangeSchema,
  calendarExamples,
  calendarInPath,
  calendarListExamples,
  calendarListSchema,
  calendarSchema,
  syncExamples,
  syncSchema,
} from '../../../schemas/scheduling/calendar.ts';

const linksOf = (id: string) => ({
  Sync: { operationId: 'syncCalendar', parameters: { id } },
  Update: { operationId: 'updateCalendar', parameters: { id } },
  Delete: { operationId: 'deleteCalendar', parameters: { id } },
});
const { Sync } = linksOf('$response.body#/data/id');
const first = '$response.body#/data/calendars/0/id';
const firstLinks = {
  ...linksOf(first),
  Sandbox: { operationId: 'getSandboxCalendar', parameters: { id: first } },
  ChangeSandbox: { operationId: 'putSandboxCalendar', parameters: { id: first } },
};

const toAnswer = ({ id, hostId, lastSyncedAt, lastError, createdAt, ...calendar }: CalendarView) => ({
  id: calendarIds.format(id),
  ...calendar,
  hostId: hostIds.format(hostId),
  lastSyncedAt: lastSyncedAt?.toISOString() ?? null,
  lastError: lastError && { ...lastError, at: lastError.at.toISOString() },
  createdAt: createdAt.toISOString(),
});

/** Characters of names and messages in a list that would be too large. The last fits, however many calendars there may be. */
const shortLengths = [100, 10, 1];

/** All calendars, of which there may be thousands, in at most 2 MiB: long names and messages are cut. */
function listAnswer(views: readonly CalendarView[]) {
  const calendars = views.map(toAnswer);
  const errors = calendars.flatMap(({ lastError }) => lastError ?? []);
  const texts = [
    { holders: calendars, name: 'name' },
    { holders: errors, name: 'message' },
  ];
  return cutTexts({ calendars }, texts, shortLengths);
}

export function calendarRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const list = operation({
    method: 'get',
    path: '/calendars',
    operationId: 'listCalendars',
    'x-client-method': 'scheduling.calendars.list',
    summary: 'List calendars',
    description: [
      'The connected calendars of all hosts, newest first. Their events block the time of their hosts, and bookings are written into the oldest calendar of a host. Where the answer would have more than 2 MiB, long names and messages of errors are',
      'cut.',
    ].join(' '),
    answers: {
      200: answer('Returns the calendars.', calendarListSchema, {
        examples: calendarListExamples,
        links: firstLinks,
      }),
    },
  });
  const sync = operation({
    method: 'post',
    path: '/calendars/{id}/sync',
    operationId: 'syncCalendar',
    'x-client-method': 'scheduling.calendars.sync',
    summary: 'Sync a calendar',
    description:
      'Starts a sync of the calendar now. While one is running, another one follows it. A calendar that has to be connected again is answered with 409 `conflict`, with its `status` in `details`.',
    params: calendarInPath,
    answers: { 202: answer('The sync begins.', syncSchema, { examples: syncExamples }) },
    failures: [409],
  });
  const patch = operation({
    method: 'patch',
    path: '/calendars/{id}',
    operationId: 'updateCalendar',
    'x-client-method': 'scheduling.calendars.update',
    summary: 'Update a calendar',
    description: 'Only the given fields change.',
    params: calendarInPath,
    body: jsonContent(calendarChangeSchema, calendarChangeExamples),
    answers: {
      200: answer('Returns the updated calendar.', calendarSchema, { examples: calendarExamples, links: { Sync } }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/calendars/{id}',
    operationId: 'deleteCalendar',
    'x-client-method': 'scheduling.calendars.delete',
    summary: 'Disconnect a calendar',
    description:
      'Its events no longer block times, and the access to the account ends. Events of bookings stay in the calendar.',
    params: calendarInPath,
    answers: { 200: deletedAnswer('The calendar was disconnected.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const calendars = await listCalendars(c.get('scope'));
    // Reading thousands takes as long as writing them: others have the process in between.
    await yieldToEventLoop();
    return c.json(success(listAnswer(calendars)), 200);
  });
  routes.openapi(sync, async (c) => {
    const { id } = await requestSync(c.get('scope'), c.req.valid('param').id);
    return c.json(success({ id: calendarIds.format(id), status: 'syncing' as const }), 202);
  });
  routes.openapi(patch, async (c) => {
    const changed = await updateCalendar(c.get('scope'), c.req.valid('param').id, c.req.valid('json'));
    return c.json(success(toAnswer(changed)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteCalendar(services, c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  return routes;
}
