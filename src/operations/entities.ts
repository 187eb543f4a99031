import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** Web vitals of one page, measured by browsers across the whole installation: the latest values and a total count. */
export const Vital = defineEntity({
  name: 'Vital',
  tableName: 'vital',
  properties: {
    name: p.string().length(40).primary(),
    /** Path of the page, without ids; '' when the browser did not send it. */
    path: p.string().length(200).primary(),
    /** Oldest first, at most 500. */
    samples: p.array<number>().columnType('double precision[]'),
    count: p.bigint('number'),
    measuredAt: p.datetime(),
  },
});
export type Vital = InferEntity<typeof Vital>;

/** A mail that is sent to an organization once. */
export const Notice = defineEntity({
  name: 'Notice',
  tableName: 'notice',
  properties: {
    organizationId: p.uuid().primary(),
    about: p.string().length(300).primary(),
    /** No other process sends it before this time. */
    leasedUntil: p.datetime(),
    sentAt: p.datetime().nullable(),
  },
});
export type Notice = InferEntity<typeof Notice>;

/** An organization's latest use of a deprecated route. */
export const DeprecatedUse = defineEntity({
  name: 'DeprecatedUse',
  tableName: 'deprecated_use',
  properties: {
    organizationId: p.uuid().primary(),
    /** `GET /api/v1/things/{id}` */
    route: p.string().length(200).primary(),
    sunset: p.date(),
    lastUsedAt: p.datetime(),
  },
});
export type DeprecatedUse = InferEntity<typeof DeprecatedUse>;
