// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsActionRuns extends Resource {
  /**
   * Retrieve a delayed action.
   *
   * Returns the status of an action that was requested with a delay, and its result. It can be read for a day
   * after its end.
   */
  get(actionRunId: string, options?: RequestOptions): Promise<api.ActionRun> {
    return this.transport.call(sdk.getActionRun, { path: { actionRunId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Cancel a delayed action.
   *
   * Cancels an action that waits for its time. A cancelled action is returned unchanged. An action that is being
   * performed, or has ended otherwise, is answered with 409 `conflict`.
   */
  cancel(actionRunId: string, options?: RequestOptions): Promise<api.ActionRun> {
    return this.transport.call(sdk.cancelActionRun, { path: { actionRunId } }, { answer: 'json', isEnveloped: true }, options);
  }
}
