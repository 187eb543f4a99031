import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** Measures of one page by browsers, of the whole installation: the latest values and how many there ever were. */
export const Vital = defineEntity({
  name: 'Vital',
  tableName: 'vital',
  properties: {
    name: p.string().length(40).primary(),
    /** Of the page, without ids; '' when the browser did not say. */
    path: p.string().length(200).primary(),
    /** Oldest first, at most 500. */
    samples: p.array<number>().columnType('double precision[]'),
    count: p.bigint('number'),
    measuredAt: p.datetime(),
  },
});
export type Vital = InferEntity<typeof Vital>;

/** A mail that an organization gets once. */
export const Notice = defineEntity({
  name: 'Notice',
  tableName: 'notice',
  properties: {
    organizationId: p.uuid().primary(),
    about: p.string().length(300).primary(),
    /** Whoever sends it has it to itself until then. */
    leasedUntil: p.datetime(),
    sentAt: p.datetime().nullable(),
  },
});
export type Notice = InferEntity<typeof Notice>;

/** That an organization used a route that will go. */
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
