// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WorkflowsSchedule extends Resource {
  /**
   * Retrieve the schedule of a workflow.
   *
   * Returns the schedule with its next times. A workflow without a schedule is answered with 404 `not_found`.
   */
  get(id: string, options?: RequestOptions): Promise<api.Schedule> {
    return this.transport.call(sdk.getSchedule, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Schedule a workflow.
   *
   * Replaces the schedule that the workflow has. Each scheduled time starts a run, even if earlier runs have not
   * ended,
   * with the definition and the inputs that the workflow has at that time. Its correlation id is
   * `schedule-<uuid of the workflow>-<time>`. If an outage delays a run, it starts up to ten minutes late and is
   * skipped
   * after that. A run counts in the limit of the day, like a request. Times at which that limit is used up, the
   * workflow is
   * inactive or the variables do not match its inputs are skipped too; `lastSkipped` has the reason.
   */
  put(id: string, body: NonNullable<api.PutScheduleData['body']>, options?: RequestOptions): Promise<api.Schedule> {
    return this.transport.call(sdk.putSchedule, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Delete the schedule of a workflow.
   *
   * Runs that it has started continue.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteScheduleResponse>> {
    return this.transport.call(sdk.deleteSchedule, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
