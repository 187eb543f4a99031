import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { PublicPageUrls } from '../../../../src/scheduling/bookings/public-pages.ts';
import { defaultReminders } from '../../../../src/scheduling/core/effects.ts';
import { eventTypeIds, hostIds } from '../../../../src/scheduling/core/ids.ts';
import {
  createEventType,
  deleteEventType,
  type EventTypeView,
  getEventType,
  listEventTypes,
  maxEventTypes,
  type NewEventType,
  updateEventType,
} from '../../../../src/scheduling/event-types.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  deletedEventTypeExamples,
  deletedEventTypeSchema,
  type EventTypeAnswer,
  eventTypeChangeExamples,
  eventTypeChangeSchema,
  eventTypeExamples,
  eventTypeInPath,
  eventTypeListExamples,
  eventTypeListSchema,
  eventTypeSchema,
  newEventTypeExamples,
  newEventTypeSchema,
} from '../../../schemas/scheduling/event-type.ts';

const id = '$response.body#/data/id';
const links = {
  Get: { operationId: 'getEventType', parameters: { id } },
  Update: { operationId: 'updateEventType', parameters: { id } },
  Availability: {
    operationId: 'getAvailability',
    parameters: { eventTypeId: id, start: '2030-06-12', end: '2030-06-14' },
  },
  Limits: { operationId: 'checkBookingLimits', parameters: { eventTypeId: id, date: '2030-06-12' } },
  // A text: generators of clients read no other form.
  Book: { operationId: 'createBooking', requestBody: `{"eventTypeId": "{${id}}"}` },
  Delete: { operationId: 'deleteEventType', parameters: { id } },
};

/** @param urlOf the address of the page of an event type */
const toAnswer = (
  { id, hostId, createdAt, updatedAt, ...eventType }: EventTypeView,
  urlOf: PublicPageUrls,
): EventTypeAnswer => ({
  id: eventTypeIds.format(id),
  ...eventType,
  bookingUrl: urlOf(eventType.slug),
  hostId: hostId && hostIds.format(hostId),
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

const withDefaults = ({
  slug,
  description = null,
  locations = [],
  bufferBefore = 0,
  bufferAfter = 0,
  minNotice = 0,
  maxAdvance = null,
  questions = [],
  reminders = [...defaultReminders],
  embedOrigins = [],
  isActive = true,
  hostId = null,
  ...required
}: z.output<typeof newEventTypeSchema>): NewEventType => ({
  ...required,
  slug,
  description,
  locations,
  bufferBefore,
  bufferAfter,
  minNotice,
  maxAdvance,
  questions,
  reminders,
  embedOrigins,
  isActive,
  hostId,
});

export function eventTypeRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');
  const { publicPages } = services;

  const operation = operationsOf({ tag: 'Scheduling', key });

  const list = operation({
    method: 'get',
    path: '/event-types',
    operationId: 'listEventTypes',
    'x-client-method': 'scheduling.eventTypes.list',
    summary: 'List event types',
    description: 'All event types, newest first.',
    answers: { 200: answer('Returns the event types.', eventTypeListSchema, { examples: eventTypeListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/event-types',
    operationId: 'createEventType',
    'x-client-method': 'scheduling.eventTypes.create',
    summary: 'Create an event type',
    description: [
      'An event type defines what can be booked: how long it takes, with whom and by which rules.',
      `A slug that exists, more than ${maxEventTypes} event types, and more than 1.5 MiB of them, are answered with 409 \`conflict\`.`,
    ].join(' '),
    body: jsonContent(newEventTypeSchema, newEventTypeExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the event type.', eventTypeSchema, {
        examples: eventTypeExamples,
        links,
        replayable: true,
      }),
    },
    failures: [404, 409],
  });
  const get = operation({
    method: 'get',
    path: '/event-types/{id}',
    operationId: 'getEventType',
    'x-client-method': 'scheduling.eventTypes.get',
    summary: 'Retrieve an event type',
    description: 'Returns the event type.',
    params: eventTypeInPath,
    answers: { 200: answer('Returns the event type.', eventTypeSchema, { examples: eventTypeExamples, links }) },
  });
  const patch = operation({
    method: 'patch',
    path: '/event-types/{id}',
    operationId: 'updateEventType',
    'x-client-method': 'scheduling.eventTypes.update',
    summary: 'Update an event type',
    description:
      'Only the given fields change; lists are replaced as a whole. Existing bookings keep their length and their buffers. A slug that exists, and more than 1.5 MiB of event types, are answered with 409 `conflict`.',
    params: eventTypeInPath,
    body: jsonContent(eventTypeChangeSchema, eventTypeChangeExamples),
    answers: {
      200: answer('Returns the updated event type.', eventTypeSchema, { examples: eventTypeExamples, links }),
    },
    failures: [409],
  });
  const remove = operation({
    method: 'delete',
    path: '/event-types/{id}',
    operationId: 'deleteEventType',
    'x-client-method': 'scheduling.eventTypes.delete',
    summary: 'Delete an event type',
    description: 'Its bookings stay and can be cancelled. Its slug is free again.',
    params: eventTypeInPath,
    answers: {
      200: answer('The event type was deleted.', deletedEventTypeSchema, { examples: deletedEventTypeExamples }),
    },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const [eventTypes, urlOf] = [await listEventTypes(c.get('scope')), await publicPages.urlsOf(c.get('scope'))];
    return c.json(success({ eventTypes: eventTypes.map((one) => toAnswer(one, urlOf)) }), 200);
  });
  routes.openapi(create, async (c) => {
    const input = withDefaults(c.req.valid('json'));
    const { outcome, replayed } = await createEventType(c.get('scope'), input, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(toAnswer(outcome, await publicPages.urlsOf(c.get('scope')))), 201);
  });
  routes.openapi(get, async (c) => {
    const found = await getEventType(c.get('scope'), c.req.valid('param').id);
    return c.json(success(toAnswer(found, await publicPages.urlsOf(c.get('scope')))), 200);
  });
  routes.openapi(patch, async (c) => {
    const changed = await updateEventType(c.get('scope'), c.req.valid('param').id, c.req.valid('json'));
    return c.json(success(toAnswer(changed, await publicPages.urlsOf(c.get('scope')))), 200);
  });
  routes.openapi(remove, async (c) => {
    const uuid = await deleteEventType(c.get('scope'), c.req.valid('param').id);
    return c.json(success({ id: eventTypeIds.format(uuid), deleted: true as const }), 200);
  });
  return routes;
}
