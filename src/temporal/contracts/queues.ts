export interface Queue {
  name: string;
}

/** Every task queue of an installation. Each has a role in workers/roles.ts, as soon as there is work for it. */
export const queues = {
  /** Runs and everything else but webhooks: workflow code, and the steps of runs. */
  runs: { name: 'runs' },
  generation: { name: 'generation' },
  /** Webhook deliveries: workflow code and attempts. Nothing of theirs waits in a queue of runs. */
  webhooks: { name: 'webhooks' },
  calendars: { name: 'calendars' },
  integrations: { name: 'integrations' },
  /** Sweeps. */
  housekeeping: { name: 'housekeeping' },
} as const satisfies Record<string, Queue>;

/** @param prefix lets several installations share one namespace */
export const taskQueueName = (prefix: string, queue: Queue): string => `${prefix}${queue.name}`;
