import { defineEvent, type EventType } from '../platform/core/event-type.ts';
import { catalog } from './catalog.ts';
import type { Integration } from './definition/integration.ts';

/** What is stored of an event of a provider. */
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
  Object.entries(integration.triggers).map(([trigger, { data: declared }]) => {
    const members = Object.keys(declared.shape);
    return defineEvent(triggerType(integration, trigger), ({ integration: id, data }: TriggerFacts) => ({
      integration: id,
      ...Object.fromEntries(members.flatMap((member) => (member in data ? [[member, data[member]]] : []))),
    }));
  }),
);
