// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Search extends Resource {
  /**
   * Search.
   *
   * Finds what has this id or correlation id, workflows and event types with this text in their names, and
   * bookings of attendees with this address: at most 20, what has the id first. A kind is searched with the scope
   * that reads it.
   */
  list(query: api.SearchData['query'], options?: RequestOptions): List<Data<api.SearchResponse>['hits'][number]> {
    return this.transport.list(sdk.search, { query }, 'hits', options);
  }
}
