// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class BulkActions extends Resource {
  /**
   * List bulk actions.
   *
   * Newest first.
   */
  list(query?: api.ListBulkActionsData['query'], options?: RequestOptions): List<api.BulkAction> {
    return this.transport.list(sdk.listBulkActions, { query }, 'bulkActions', options);
  }

  /**
   * Cancel or retry many runs.
   *
   * Cancels or retries up to 500 runs by their ids, or up to 10,000 that match a filter now. Which runs these are
   * is decided once: `dryRun` shows how many. Two bulk actions of an organization may be open at a time; one more
   * is answered with 409 `conflict`.
   */
  create(body: NonNullable<api.CreateBulkActionData['body']>, options?: RequestOptions): Promise<api.BulkActionPreview | api.AcceptedBulkAction> {
    return this.transport.call(sdk.createBulkAction, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve a bulk action.
   *
   * Returns how many of its runs are done, and its first errors.
   */
  get(bulkActionId: string, options?: RequestOptions): Promise<api.BulkAction> {
    return this.transport.call(sdk.getBulkAction, { path: { bulkActionId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Abort a bulk action.
   *
   * Runs that were not processed yet are not changed. A bulk action that has ended stays as it is.
   */
  abort(bulkActionId: string, options?: RequestOptions): Promise<api.BulkAction> {
    return this.transport.call(sdk.abortBulkAction, { path: { bulkActionId } }, { answer: 'json', isEnveloped: true }, options);
  }
}
