import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readJson } from '../../../src/platform/core/bounded-json.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { calendarPushed } from '../../../src/scheduling/calendars/push.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { withUnprovenBody } from '../../requests/unproven-body.ts';
import { receiveOperation } from '../../schemas/inbound.ts';

const maxBytes = 64 * 1024;

/** Maximum per request; a notification is a few hundred bytes. */
const maxNotifications = 100;
const maxValidationLength = 1_024;

const bodySchema = z.object({
  value: z
    .array(z.object({ clientState: z.string().max(200), lifecycleEvent: z.string().optional() }))
    .min(1)
    .max(maxNotifications),
});

const pushDescription =
  'The token of the calendar, which Atelier chose, proves that a notification is genuine. A notification only causes a read of the calendar.';

const pushOperations = [
  receiveOperation(
    '/google',
    'receiveGoogleCalendarPush',
    {
      summary: 'Receive notifications of Google Calendar',
      description: `${pushDescription} All its data is in headers.`,
    },
    {},
  ),
  receiveOperation(
    '/microsoft',
    'receiveMicrosoftCalendarPush',
    {
      summary: 'Receive notifications of Microsoft Graph',
      description: `${pushDescription} A request with \`validationToken\` in its query is answered with that text.`,
    },
    {
      body: { schema: bodySchema, example: { value: [{ clientState: 'the token of the calendar' }] } },
      status: 202,
      verification: 'text',
    },
  ),
];

/**
 * The endpoints for change notifications of calendar services. They have no key: a notification carries a token that we
 * created for the calendar. It only causes a read of the calendar, so a notification for a deleted calendar is answered
 * like any other.
 */
export function calendarPushRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { addressLimits, pushTokens } = services;

  /** @throws AppError rate_limit_exceeded */
  const countUnproven = (c: ApiContext) => addressLimits.take('unproven', limitedRange(c.get('clientAddress')()));

  /** @throws AppError unauthorized, rate_limit_exceeded */
  function calendarOf(c: ApiContext, token: string | undefined): string {
    const calendarId = token === undefined ? undefined : pushTokens.calendarOf(token);
    if (calendarId !== undefined) return calendarId;
    countUnproven(c);
    throw new AppError('unauthorized', 'The notification has no token of a calendar.');
  }

  const routes = newRoutes();
  for (const operation of pushOperations) routes.openAPIRegistry.registerPath(operation);
  routes.post('/google', async (c) => {
    const calendarId = calendarOf(c, c.req.header('x-goog-channel-token'));
    // The first one only says that the channel is there.
    if (c.req.header('x-goog-resource-state') !== 'sync') await calendarPushed(services, calendarId);
    return c.json({ received: true }, 200);
  });
  routes.post('/microsoft', async (c) => {
    const validation = c.req.query('validationToken');
    if (validation !== undefined) {
      // Microsoft asks so whether a new address is ours.
      if (validation.length > maxValidationLength) throw new AppError('validation_error', 'The token is too long.');
      return c.text(validation, 200);
    }
    const read = await withUnprovenBody(c, maxBytes, async (bytes) => readJson(bytes, maxBytes));
    const body = bodySchema.safeParse(read);
    if (!body.success) {
      countUnproven(c);
      throw new AppError('validation_error', 'Expected notifications of Microsoft Graph.');
    }
    const notices = body.data.value.map(({ clientState, lifecycleEvent }) => ({
      calendarId: calendarOf(c, clientState),
      isLost: lifecycleEvent !== undefined,
    }));
    const lost = new Set(notices.filter(({ isLost }) => isLost).map(({ calendarId }) => calendarId));
    for (const calendarId of new Set(notices.map((one) => one.calendarId))) {
      await calendarPushed(services, calendarId, { isLost: lost.has(calendarId) });
    }
    return c.json({ received: true }, 202);
  });
  return routes;
}
