// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class RedirectUrls extends Resource {
  /**
   * List redirect addresses.
   *
   * The addresses to which users may return after they connect an account, in the order in which they were added.
   */
  list(options?: RequestOptions): List<Data<api.ListRedirectUrlsResponse>['redirects'][number]> {
    return this.transport.list(sdk.listRedirectUrls, {}, 'redirects', options);
  }

  /**
   * Add a redirect address.
   *
   * Allows an address with any query. Adding an address again is a no-op.
   */
  create(body: NonNullable<api.CreateRedirectUrlData['body']>, options?: RequestOptions): Promise<api.RedirectUrls> {
    return this.transport.call(sdk.createRedirectUrl, { body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Remove a redirect address.
   *
   * Removing an address that is not in the list is a no-op.
   */
  delete(query: api.DeleteRedirectUrlData['query'], options?: RequestOptions): Promise<Data<api.DeleteRedirectUrlResponse>> {
    return this.transport.call(sdk.deleteRedirectUrl, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
