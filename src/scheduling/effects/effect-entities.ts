import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { EffectStatus } from '../core/effect-status.ts';
import type { ChangeFacts, EffectKind } from '../core/effects.ts';

/**
 * An effect of a change of a booking, which happens once. Rows exist for the latest change, and for open effects of
 * earlier ones.
 */
export const BookingEffect = defineEntity({
  name: 'BookingEffect',
  tableName: 'booking_effect',
  filters: { tenant: tenantFilter },
  properties: {
    bookingId: p.uuid().primary(),
    /** The change that it follows from: 0 is the booking itself. */
    version: p.integer().primary(),
    kind: p.string().length(20).$type<EffectKind>().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    status: p.string().length(10).$type<EffectStatus>(),
    /** Also identifies the attempt: the result of a superseded worker is not recorded. */
    attempts: p.integer(),
    lastError: p.string().length(300).nullable(),
    facts: p.json<ChangeFacts>().nullable(),
    dueAt: p.datetime(),
    handedOverAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ name: 'booking_effect_due_index', properties: ['dueAt'], where: "status in ('pending', 'retrying')" }],
});
export type BookingEffect = InferEntity<typeof BookingEffect>;
