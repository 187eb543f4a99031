import type { OpenAPIHono } from '@hono/zod-openapi';
import {
  getSandbox,
  putSandbox,
  type SandboxView,
} from '../../../../src/scheduling/calendars/clients/sandbox-events.ts';
import { bookingIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  calendarInPath,
  putSandboxExamples,
  putSandboxSchema,
  sandboxExamples,
  sandboxSchema,
} from '../../../schemas/scheduling/calendar.ts';

const toAnswer = ({ written, ...sandbox }: SandboxView) => ({
  ...sandbox,
  written: written.map(({ bookingId, ...event }) => ({ ...event, bookingId: bookingIds.format(bookingId) })),
});

/** The contents of the calendars of test keys. */
export function sandboxCalendarRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');
  const operation = operationsOf({ tag: 'Scheduling', key });

  const get = operation({
    method: 'get',
    path: '/calendars/{id}/sandbox',
    operationId: 'getSandboxCalendar',
    'x-client-method': 'scheduling.calendars.sandbox.get',
    summary: 'Read a sandbox calendar',
    description:
      'Returns the events of a calendar of a test key. Calendars of live keys are answered with 404 `not_found`.',
    params: calendarInPath,
    answers: { 200: answer('Returns its events.', sandboxSchema, { examples: sandboxExamples }) },
  });
  const put = operation({
    method: 'put',
    path: '/calendars/{id}/sandbox',
    operationId: 'putSandboxCalendar',
    'x-client-method': 'scheduling.calendars.sandbox.put',
    summary: 'Replace the contents of a sandbox calendar',
    description: [
      'Replaces the events of other people and the simulated failure. The next sync reads them. An event with the `id` of an event in `written` changes the event of that booking: another time moves it, and the status `cancelled` removes it.',
    ].join(' '),
    params: calendarInPath,
    body: jsonContent(putSandboxSchema, putSandboxExamples),
    answers: { 200: answer('Returns its events.', sandboxSchema, { examples: sandboxExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(await getSandbox(c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(put, async (c) => {
    const { events, fault = null } = c.req.valid('json');
    const shown = await putSandbox(c.get('scope'), c.req.valid('param').id, { events, fault });
    return c.json(success(toAnswer(shown)), 200);
  });
  return routes;
}
