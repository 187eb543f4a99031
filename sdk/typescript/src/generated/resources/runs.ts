// This file is generated from the OpenAPI document.

import type { Data, RequestOptions, StreamOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import type { EventStream } from '../../core/streams.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { RunsInput } from './runs-input.ts';
import { RunsOutputs } from './runs-outputs.ts';
import { RunsSteps } from './runs-steps.ts';

export class Runs extends Resource {
  readonly input = new RunsInput(this.transport);
  readonly outputs = new RunsOutputs(this.transport);
  readonly steps = new RunsSteps(this.transport);

  /**
   * Retrieve a run.
   *
   * With the result of each step; of a run that has ended, steps that were not reached are `skipped`. Deleting a
   * workflow deletes its runs.
   */
  get(id: string, options?: RequestOptions): Promise<api.RunDetail> {
    return this.transport.call(sdk.getRun, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Update a run.
   *
   * Changes the tags and the metadata of a run at any time, and when it begins while its delay lasts; afterwards
   * `startAt` is answered with 409 `conflict`.
   */
  update(id: string, body: NonNullable<api.UpdateRunData['body']>, options?: RequestOptions): Promise<api.RunDetail> {
    return this.transport.call(sdk.updateRun, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete a run.
   *
   * Deletes a run that has ended, with its outputs and their files. Retries of the run stay. A run that has not
   * ended is answered with 409 `conflict`: cancel it first.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteRunResponse>> {
    return this.transport.call(sdk.deleteRun, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * List runs.
   *
   * Runs of all workflows that match every filter, newest first by the time of creation. `after` reads the next
   * page at a constant cost; `offset` reaches the first 10,000 runs.
   */
  list(query?: api.ListRunsData['query'], options?: RequestOptions): List<api.FoundRun> {
    return this.transport.list(sdk.listRuns, { query }, 'runs', options);
  }

  /**
   * Cancel a run.
   *
   * Completed steps keep their results. Cancelling a run that has ended changes nothing.
   */
  cancel(id: string, options?: RequestOptions): Promise<api.RunDetail> {
    return this.transport.call(sdk.cancelRun, { path: { id } }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Retry a run.
   *
   * Starts a new run from the failed step, reusing the outputs of the steps before it; in a map or parallel step
   * that failed, it also reuses the items and branches that completed. `path` names a step within others. A step
   * whose outcome is unknown keeps the idempotency keys of its earlier run. `definition: "current"` uses the
   * definition that the workflow has now, and reuses outputs by the ids of the steps. A run that has completed
   * needs `fromStep`; one that has not ended is answered with 409 `conflict`.
   */
  retry(id: string, body?: NonNullable<api.RetryRunData['body']>, options?: RequestOptions): Promise<api.AcceptedRun> {
    return this.transport.call(sdk.retryRun, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Stream the events of a run.
   *
   * Server-Sent Events from the beginning of the run. After a lost connection, continue with `Last-Event-ID`.
   * After the last event of a run that has ended the answer is 204, at which an EventSource stops reconnecting.
   */
  events(id: string, query?: api.StreamRunEventsData['query'], options?: StreamOptions): EventStream {
    return this.transport.stream(sdk.streamRunEvents, { path: { id }, query }, options);
  }

  /**
   * Stream the events of many runs.
   *
   * Server-Sent Events of all runs that match the filter, from now on, each with its `runId`: those that have not
   * ended, the newest 1,000, and those that are created later. Give exactly one of `workflowId`, `tag`, `batchId`
   * and `parentRunId`. After a lost connection, continue with `Last-Event-ID` within an hour. The stream never
   * closes, and counts as one stream.
   */
  followMany(query?: api.StreamRunsEventsData['query'], options?: StreamOptions): EventStream {
    return this.transport.stream(sdk.streamRunsEvents, { query }, options);
  }
}
