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
}

export type StartRole = (context: RoleContext) => Promise<RunningRole>;
