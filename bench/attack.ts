import type { ProductClient } from './product-client.ts';

/** What makes an attack, with a key of its own. */
export interface Attacker {
  /** Base URL of the product. */
  api: string;
  client: ProductClient;
  /** Deleted when the attack ends. @returns the workflow's id */
  createWorkflow(steps: object[]): Promise<string>;
  /** @returns the webhook's id, undefined when it is refused */
  createWebhook(url: string): Promise<string | undefined>;
  /** A receiver that answers no request. */
  hangingUrl: string;
}

export interface Prepared {
  /** What every caller repeats. */
  repeat(caller: number): Promise<unknown>;
  /** What has been created and the bench fills: see `Attack.fill`. */
  ids?: string[];
}

export interface Attack {
  name: string;
  /** Organizations that make it, 1 unless given. */
  organizations?: number;
  /** How many of an organization's callers repeat it at the same time. */
  callers: number;
  /** What the bench writes into the database before it begins, for what `ids` name. */
  fill?: 'runs' | 'events';
  prepare(attacker: Attacker): Promise<Prepared>;
}
