import type { FieldError } from '../platform/errors.ts';
import type { Scope } from '../platform/scope.ts';

/** An action of a third-party tool, with its values filled in. */
export interface StepAction {
  integrationId: string;
  actionId: string;
  payload: Record<string, unknown>;
  /** One for each step of each run. It stays the same when the step is executed anew after a crash. */
  key: string;
  signal: AbortSignal;
}

/** What steps of type `action` need. This feature only names it; another one fills it in the composition. */
export interface StepActions {
  /**
   * What can never work, as a call of the action would be refused. Nothing is asked of the provider, and the integration
   * need not be connected.
   * @param payload strings may contain templates. Problems of those are reported too; the caller leaves them out
   * @returns paths are `integration`, `action`, or `payload` with the place in it, as in `payload.blocks.0.text`
   */
  check(integrationId: string, actionId: string, payload: Record<string, unknown>): FieldError[];
  /**
   * Performs the action, once for each key: another call with a key acts again only when nothing can have happened before.
   * Where the outcome of an earlier call is unknown it fails with `action_failed`.
   * @returns the answer of the action, JSON
   * @throws ActionFailure (core/action-failure.ts); the reason of `signal`; errors of the database
   */
  perform(scope: Scope, action: StepAction): Promise<unknown>;
}
