import type { Services } from '../src/services.ts';
import { createWebhookActivities } from './webhooks.ts';

/** Served on the queue of the workflow code: an operator who starts a redrive by hand passes no other queue. */
export const createRedriveActivities = (services: Services) => {
  const { redrivePage } = createWebhookActivities(services);
  return { redrivePage };
};

export type RedriveActivities = ReturnType<typeof createRedriveActivities>;
