import type { OpenAPIHono } from '@hono/zod-openapi';
import { findSettings, putBusinessHours } from '../../../../src/scheduling/availability/settings.ts';
import { type StoredBusinessHours, weekOf } from '../../../../src/scheduling/availability/settings-records.ts';
import { hostIds } from '../../../../src/scheduling/core/ids.ts';
import { getHost, putHours } from '../../../../src/scheduling/hosts.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  businessHoursExamples,
  businessHoursSchema,
  hostInQuery,
  newBusinessHoursExamples,
  newBusinessHoursSchema,
  newRulesExamples,
  newRulesSchema,
  rulesExamples,
  rulesSchema,
} from '../../../schemas/scheduling/hours.ts';

export function hoursRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const getRules = operation({
    method: 'get',
    path: '/availability/rules',
    operationId: 'getAvailabilityRules',
    'x-client-method': 'scheduling.availability.rules.get',
    summary: 'Retrieve the weekly hours of a host',
    description: 'The default is Monday to Friday, 9 to 17, UTC.',
    query: hostInQuery,
    answers: { 200: answer('Returns the rules.', rulesSchema, { examples: rulesExamples }) },
    failures: [404],
  });
  const putRules = operation({
    method: 'put',
    path: '/availability/rules',
    operationId: 'putAvailabilityRules',
    'x-client-method': 'scheduling.availability.rules.put',
    summary: 'Set the weekly hours of a host',
    description:
      'Replaces the weekly hours. A minute is open when the local time of the host is inside a range: times that a clock change skips do not exist, and repeated ones are open twice.',
    body: jsonContent(newRulesSchema, newRulesExamples),
    answers: { 200: answer('Returns the rules.', rulesSchema, { examples: rulesExamples }) },
    failures: [404],
  });
  const getBusiness = operation({
    method: 'get',
    path: '/business-hours',
    operationId: 'getBusinessHours',
    'x-client-method': 'scheduling.businessHours.get',
    summary: 'Retrieve the business hours',
    description: 'The business hours apply to all hosts. An exception that names a host applies to that host alone.',
    answers: { 200: answer('Returns the business hours.', businessHoursSchema, { examples: businessHoursExamples }) },
  });
  const putBusiness = operation({
    method: 'put',
    path: '/business-hours',
    operationId: 'putBusinessHours',
    'x-client-method': 'scheduling.businessHours.put',
    summary: 'Set the business hours',
    description:
      'Replaces the business hours as a whole. A host can be booked when its weekly hours and these are both open.',
    body: jsonContent(newBusinessHoursSchema, newBusinessHoursExamples),
    answers: { 200: answer('Returns the business hours.', businessHoursSchema, { examples: businessHoursExamples }) },
  });

  const shown = (hours: StoredBusinessHours) => ({
    ...hours,
    exceptions: hours.exceptions.map(({ hours: open, hostId, ...exception }) => ({
      ...exception,
      hours: open && [...open],
      ...(hostId !== undefined && { hostId: hostIds.format(hostId) }),
    })),
    holidays: [...hours.holidays],
  });

  const routes = newRoutes();
  routes.openapi(getRules, async (c) => {
    const { timezone, weeklyHours } = await getHost(c.get('scope'), c.req.valid('query').hostId);
    // The database keeps no order of the days.
    return c.json(success({ timezone, weeklyHours: weekOf(weeklyHours) }), 200);
  });
  routes.openapi(putRules, async (c) => {
    const { timezone, weeklyHours: given, hostId = null } = c.req.valid('json');
    const { weeklyHours } = await putHours(c.get('scope'), hostId, { timezone, weeklyHours: weekOf(given) });
    return c.json(success({ timezone, weeklyHours }), 200);
  });
  routes.openapi(getBusiness, async (c) => {
    const { businessHours } = await findSettings(c.get('scope'));
    return c.json(success(shown(businessHours)), 200);
  });
  routes.openapi(putBusiness, async (c) => {
    const { timezone = null, default: week, exceptions = [], holidays = [] } = c.req.valid('json');
    const named = exceptions.map(({ hostId, ...one }) => (hostId ? { ...one, hostId } : one));
    const hours = { timezone, default: week ? weekOf(week) : null, exceptions: named, holidays };
    return c.json(success(shown(await putBusinessHours(c.get('scope'), hours))), 200);
  });
  return routes;
}
