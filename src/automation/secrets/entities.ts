import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** A value that steps send and no answer contains, by its name. */
export const Secret = defineEntity({
  name: 'Secret',
  tableName: 'secret',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    name: p.string().length(64),
    sealedValue: p.text(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** At most a minute too early. */
    lastUsedAt: p.datetime().nullable(),
  },
  uniques: [{ name: 'secret_name_unique', properties: ['organizationId', 'environment', 'name'] }],
});
export type Secret = InferEntity<typeof Secret>;
