// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class AuditLog extends Resource {
  /**
   * List the audit log.
   *
   * What people, keys and operators did in the organization, newest first. Entries are never changed. With
   * filters a page may be short or empty before the end of the list: `nextCursor` is null only there.
   */
  list(query?: api.ListAuditLogData['query'], options?: RequestOptions): List<Data<api.ListAuditLogResponse>['entries'][number]> {
    return this.transport.list(sdk.listAuditLog, { query }, 'entries', options);
  }
}
