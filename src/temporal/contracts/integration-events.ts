import type { WorkContext } from './work-context.ts';

export const integrationEventWorkflows = { fetchEvents: 'fetchEvents' } as const;

export interface IntegrationEventWorkflows {
  fetchEvents(args: FetchEventsArgs): Promise<void>;
}

/** One of a connection at a time. */
export const fetchEventsWorkflowId = (connectionId: string) => `events-${connectionId}`;

export const fetchEventsMessages = { wake: 'wake' } as const;

/** Every duration is a value, so that tests run a whole retry schedule in seconds. */
export interface FetchEventsPolicy {
  /** Time limit of one request to the provider. */
  requestMs: number;
  /** Time limit of the activity around a page of them. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** The wait before an event is requested again; doubled each time. */
  firstPauseMs: number;
  longestPauseMs: number;
}

export const defaultFetchEventsPolicy: FetchEventsPolicy = {
  requestMs: 10_000,
  timeoutMs: 300_000,
  heartbeatTimeoutMs: 30_000,
  firstPauseMs: 1_000,
  longestPauseMs: 300_000,
};

export interface FetchEventsArgs extends WorkContext {
  integrationId: string;
  /** The integration's connection. */
  connectionId: string;
  policy: FetchEventsPolicy;
}

/**
 * - over: nothing waits
 * - again: more may wait
 * - pause: what waits is to be asked for later; `limited` where the provider asked for that
 */
export type FetchEventsProgress =
  | { kind: 'over' }
  | { kind: 'again' }
  | { kind: 'pause'; ms: number; limited: boolean };
