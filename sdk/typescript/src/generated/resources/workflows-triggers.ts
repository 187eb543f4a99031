// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WorkflowsTriggers extends Resource {
  /**
   * Retrieve the triggers of a workflow.
   *
   * Returns the triggers. Each has the time when it last started a run, and the last reason why it did not.
   */
  get(id: string, options?: RequestOptions): Promise<api.Triggers> {
    return this.transport.call(sdk.getTriggers, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Set the triggers of a workflow.
   *
   * Replaces the triggers that the workflow has. An event that matches one of them starts a run: the event is its
   * input, `{{input}}`, and `inputs` become its variables. Several triggers that match the same event start one
   * run.
   * Such a run counts in the limit of the day, like a request. An event that a run of the workflow caused starts
   * no further run. Neither does an event at the end of a chain of more than five workflows. `lastSkipped` has
   * the reason.
   */
  put(id: string, body: NonNullable<api.PutTriggersData['body']>, options?: RequestOptions): Promise<api.Triggers> {
    return this.transport.call(sdk.putTriggers, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
