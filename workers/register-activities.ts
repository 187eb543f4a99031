import type { Services } from '../src/services.ts';

// biome-ignore lint/suspicious/noExplicitAny: each workflow checks the arguments of the activities that it calls
type Activities = Record<string, (...args: any[]) => Promise<unknown>>;

/** Makes a feature's activities. */
export type ActivityFactory = (services: Services) => Activities;

/** The activities of one queue. @throws Error when two factories make an activity of the same name */
export function registerActivities(
  queue: string,
  factories: readonly ActivityFactory[],
  services: Services,
): Activities {
  const registered: Activities = {};
  for (const factory of factories) {
    for (const [name, activity] of Object.entries(factory(services))) {
      if (name in registered) throw new Error(`Two activities of the queue ${queue} have the name ${name}.`);
      registered[name] = activity;
    }
  }
  return registered;
}
