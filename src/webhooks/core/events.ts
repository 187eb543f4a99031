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

/** What the list of a subscription may hold. */
export const isEventFilter = (text: string): text is EventType | typeof everyEvent =>
  text === everyEvent || eventTypes.some((type) => type === text);

/** Whether a subscription hears of an event. A test goes to the one that was tested and asks for no filter. */
export const listensTo = (events: readonly string[], type: EventType): boolean =>
  events.includes(everyEvent) || events.includes(type);
