import { z } from 'zod';
import { defineEvent, type EventType } from '../platform/core/event-type.ts';
import { type JsonSchema, oneOf } from '../platform/core/json-schema.ts';
import { catalog } from './catalog.ts';
import type { Integration } from './definition/integration.ts';

/** The stored part of an event of a provider. */
export interface TriggerFacts {
  /** `slack` */
  integration: string;
  /** As the trigger declares it. */
  data: Record<string, unknown>;
}

/** The published name of an event: `slack.message_received`. */
export const triggerType = (integration: Pick<Integration, 'id'>, trigger: string): string =>
  `${integration.id}.${trigger}`;

/** The event types of all integrations. PostgreSQL keeps members of JSON in an order of its own: they get the published one. */
export const triggerEvents: readonly EventType[] = catalog.flatMap((integration) =>
  Object.entries(integration.triggers).map(([trigger, { summary, data: declared, example }]) => {
    const { properties } = z.toJSONSchema(declared) as { properties: Record<string, JsonSchema> };
    const names = Object.keys(properties);
    return defineEvent<TriggerFacts, Record<string, unknown>>({
      type: triggerType(integration, trigger),
      description: summary,
      since: '2026-11-22',
      data: ({ integration: id, data }) => ({
        integration: id,
        ...Object.fromEntries(names.flatMap((name) => (name in data ? [[name, data[name]]] : []))),
      }),
      members: { integration: oneOf([integration.id]), ...properties },
      example: { integration: integration.id, data: example as Record<string, unknown> },
    });
  }),
);
