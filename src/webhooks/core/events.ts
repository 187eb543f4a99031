/** What a subscription can be told of. */
export const eventTypes = [
  'workflow.run.started',
  'workflow.run.completed',
  'workflow.run.failed',
  'workflow.run.cancelled',
  'api_key.expiring',
  'test.webhook',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Stands for every event type, those to come included. */
export const everyEvent = '*';
