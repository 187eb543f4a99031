import type { FieldError } from '../platform/errors.ts';
import type { Scope } from '../platform/scope.ts';
import type { ActionErrorCode } from './core/action-codes.ts';

/** An action of a third-party tool, with its values filled in. */
export interface StepAction {
  integrationId: string;
  actionId: string;
  payload: Record<string, unknown>;
  /** One for each step of each run. It stays the same when the step is executed anew after a crash. */
  key: string;
  signal: AbortSignal;
}

/** The outcome of an action: its answer, JSON, or why it was not performed. The message may be shown to the tenant. */
export type StepActionOutcome =
  | { answer: unknown }
  | {
      code: ActionErrorCode;
      message: string;
      /** After `rate_limited`, when nothing was done: the time until it may be tried again. */
      retryAfterMs?: number | undefined;
    };

/** The port for steps of type `action`. Another feature implements it; the composition connects them. */
export interface StepActions {
  /** Whether an integration has this id, connected or not. */
  isIntegration(id: string): boolean;
  /**
   * Problems because of which the action would always be refused. Sends no request to the provider; the integration need not be
   * connected.
   * @param payload strings may contain templates. Problems of those are reported too; the caller leaves them out
   * @returns paths are `integration`, `action`, or `payload` with the place in it, as in `payload.blocks.0.text`
   */
  check(integrationId: string, actionId: string, payload: Record<string, unknown>): FieldError[];
  /**
   * Performs the action, once for each key: a second call with a key acts only if the first one certainly did nothing. If the
   * outcome of an earlier call is unknown it fails with `action_failed`.
   * @throws the reason of `signal`; errors of our own, after which it is called again
   */
  perform(scope: Scope, action: StepAction): Promise<StepActionOutcome>;
}
