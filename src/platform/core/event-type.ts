/** A type of event that webhooks can subscribe to. `Facts` is what is stored when the event is published. */
export interface EventType<Facts = never> {
  /** The published name, such as `workflow.run.completed`. */
  readonly type: string;
  /** Renders the field `data` of the payload, with ids and statuses in dialect A's form. */
  data(facts: Facts): object;
  /** Whether the payload has the name in the field `event` too. */
  readonly repeatsType?: boolean;
}

/** Declares an event type. The feature's part lists it. */
export const defineEvent = <Facts>(
  type: string,
  data: (facts: Facts) => object,
  more: Pick<EventType, 'repeatsType'> = {},
): EventType<Facts> => ({ type, data, ...more });
