import type { NativeConnection } from '@temporalio/worker';
import type { Services } from '../src/services.ts';

/** A part of a process that runs until it is stopped. */
export interface RunningRole {
  /** Where it listens, if it does. */
  port?: number;
  /** Settles when the role ends by itself, which it should not. */
  failed?: Promise<void>;
  stop(): Promise<void>;
}

/** The inputs of a role. */
export interface RoleContext {
  services: Services;
  connection: NativeConnection;
  /** Full name of its task queue; empty for a role without one. */
  queue: string;
  /** The activities of its queue, by name. */
  activities: object;
  /** Aborted when the process stops: a start that is under way ends then. */
  processStopping: AbortSignal;
  /** Each worker says that it polls: what stops it, if the rest of the start of its role fails. */
  onPolling(stop: () => Promise<void>): void;
}

/** Waits for the end of every part of a role, and throws the first failure then: the other parts drain all the same. */
export async function allEnded(parts: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  const failed = (await Promise.allSettled(parts)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

export type StartRole = (context: RoleContext) => Promise<RunningRole>;
