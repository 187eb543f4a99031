export interface Queue {
  name: string;
}

/** Every task queue of an installation. Each has a role in workers/roles.ts, as soon as there is work for it. */
export const queues = {
  /** Runs and everything else but webhooks: workflow code, and the steps of runs. */
  runs: { name: 'runs' },
  generation: { name: 'generation' },
  /** Webhook deliveries: workflow code and attempts. They never wait in a queue of runs. */
  webhooks: { name: 'webhooks' },
  calendars: { name: 'calendars' },
  integrations: { name: 'integrations' },
  /** Sweeps. */
  housekeeping: { name: 'housekeeping' },
} as const satisfies Record<string, Queue>;

/** The name of another queue of the same installation, for activities that a workflow does not have on its own queue. */
export const besideQueue = (taskQueue: string, own: Queue, other: Queue): string =>
  taskQueue.slice(0, taskQueue.length - own.name.length) + other.name;

/** @param prefix lets several installations share one namespace */
export const taskQueueName = (prefix: string, queue: Queue): string => `${prefix}${queue.name}`;
