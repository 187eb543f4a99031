import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';

/** What an organization supplied for one tool server in one environment. */
export const ToolConfiguration = defineEntity({
  name: 'ToolConfiguration',
  tableName: 'tool_configuration',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    /** One of the catalogue. */
    server: p.string().length(20),
    enabled: p.boolean(),
    url: p.string().length(2048).nullable(),
    values: p.json<Record<string, string>>().columnType('json'),
    /** Sealed JSON of all secrets by name; null without secrets. */
    sealedSecrets: p.text().nullable(),
    secretNames: p.json<string[]>(),
    /** Names of the tools that the server listed last; null before the first list. */
    functions: p.json<string[]>().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [
    {
      name: 'tool_configuration_server_unique',
      properties: ['organizationId', 'environment', 'server'],
    },
  ],
});
export type ToolConfiguration = InferEntity<typeof ToolConfiguration>;
