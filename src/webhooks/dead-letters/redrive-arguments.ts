import { z } from 'zod';
import type { ResourceId } from '../../platform/core/ids.ts';
import { invalid } from '../../platform/errors.ts';
import { organizationIds } from '../../tenancy/core/ids.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { webhookIds } from '../core/ids.ts';

/** Which dead letters, of all tenants. */
export interface DeadLetterFilter {
  organizationId?: string | undefined;
  subscriptionId?: string | undefined;
  eventType?: string | undefined;
  /** Dead-lettered at or after this time. */
  since?: Date | undefined;
}

const idOf = (ids: ResourceId) =>
  z
    .string()
    .refine((text) => ids.parse(text) !== undefined, `Expected an id as ${ids.prefix}_… or a uuid.`)
    .transform((text) => ids.parse(text)!);

const time = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    'Expected a date as 2027-01-31 or a time as 2027-01-31T12:00:00Z.',
  )
  .transform((text) => new Date(text));

// A lower rate would need longer pauses than Temporal's timers allow.
const leastPerSecond = 0.01;
const aRate = `Expected a number of at least ${leastPerSecond}.`;

// Unknown names are refused: ignoring a mistyped filter would redrive everything.
const schemaOf = (events: EventCatalog) =>
  z
    .strictObject({
      organizationId: idOf(organizationIds).optional(),
      webhookId: idOf(webhookIds).optional(),
      eventType: z.enum([...events.keys()]).optional(),
      since: time.optional(),
      perSecond: z.number(aRate).min(leastPerSecond, aRate).optional(),
    })
    .transform(({ webhookId, ...given }) => ({ ...given, ...(webhookId && { subscriptionId: webhookId }) }));

/**
 * Reads which dead letters an operator means, as typed into a form or on a command line.
 * @throws AppError validation_error, whose message names what is wrong
 */
export function readRedriveArguments(events: EventCatalog, given: unknown): DeadLetterFilter {
  const read = schemaOf(events).safeParse(given ?? {});
  if (read.success) return read.data;
  const errors = read.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw invalid(errors, errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(' '));
}
