// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class CreditsEntries extends Resource {
  /**
   * List credit entries.
   *
   * The ledger's entries of the environment, newest first. Entries are never changed.
   */
  list(query?: api.ListCreditEntriesData['query'], options?: RequestOptions): List<Data<api.ListCreditEntriesResponse>['entries'][number]> {
    return this.transport.list(sdk.listCreditEntries, { query }, 'entries', options);
  }
}
