// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Batches extends Resource {
  /**
   * Execute a workflow many times.
   *
   * Starts a run for each of up to 1,000 items, in a body of up to 4 MiB: all of them, or none if one is invalid
   * or the day has too few runs left. `GET /runs?batchId=` lists the runs. A webhook of the type
   * `batch.completed` is notified when all have ended.
   */
  create(id: string, body: NonNullable<api.CreateBatchData['body']>, options?: RequestOptions): Promise<api.CreatedBatch> {
    return this.transport.call(sdk.createBatch, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * List batches.
   *
   * Newest first.
   */
  list(query?: api.ListBatchesData['query'], options?: RequestOptions): List<api.RunBatch> {
    return this.transport.list(sdk.listBatches, { query }, 'batches', options);
  }

  /**
   * Retrieve a batch.
   *
   * Returns how many of its runs are in each status.
   */
  get(batchId: string, options?: RequestOptions): Promise<api.RunBatch> {
    return this.transport.call(sdk.getBatch, { path: { batchId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Cancel a batch.
   *
   * Cancels its runs that have not ended. A batch that has ended stays as it is.
   */
  cancel(batchId: string, options?: RequestOptions): Promise<api.RunBatch> {
    return this.transport.call(sdk.cancelBatch, { path: { batchId } }, { answer: 'json', isEnveloped: true }, options);
  }
}
